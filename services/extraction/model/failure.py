"""Why a model did not take a turn: what the log says, without content."""

from enum import StrEnum
from typing import Final


class Fallback(StrEnum):
    """The reasons for which the rules take a turn instead."""

    NOT_REACHED = "not_reached"
    TOO_SLOW = "too_slow"
    CUT_OFF = "cut_off"
    TOO_LARGE = "too_large"
    BAD_ANSWER = "bad_answer"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    REDIRECTED = "redirected"
    NOT_UNDERSTOOD = "not_understood"
    SERVER_ERROR = "server_error"
    BUDGET_SPENT = "budget_spent"
    BREAKER_OPEN = "breaker_open"
    BUSY = "busy"
    FAILED = "failed"


OWN: Final = frozenset({Fallback.BUDGET_SPENT, Fallback.BREAKER_OPEN, Fallback.BUSY})
"""What we decide ourselves: no sign of the endpoint's health."""

UNREAD: Final = frozenset(
    {
        *(Fallback.NOT_REACHED, Fallback.RATE_LIMITED, Fallback.REFUSED),
        *(Fallback.REDIRECTED, Fallback.NOT_UNDERSTOOD),
    }
)
"""Where no model has read anything, so no tokens were used."""

PASSING: Final = frozenset(
    {Fallback.NOT_REACHED, Fallback.CUT_OFF, Fallback.TOO_SLOW, Fallback.RATE_LIMITED, Fallback.SERVER_ERROR}
)
"""What another try may not meet again."""


class ModelError(Exception):
    """The model does not take the turn. Holds a reason, never what was sent or received.

    Args:
        reason: why.
        wait_s: how long the endpoint asked to be left alone.
    """

    def __init__(self, reason: Fallback, wait_s: float | None = None) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.wait_s = wait_s
