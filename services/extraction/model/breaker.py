"""The circuit breaker of a model's endpoint: what we decide ourselves is no failure of it."""

from collections.abc import Callable
from time import monotonic

from events import breaker
from services.extraction.model.failure import OWN, Fallback, ModelError


class Breaker(breaker.Breaker):
    """Raises `ModelError` while it is open.

    Args:
        after: how many failures in a row open it.
        pause_s: how long it stays open the first time.
        clock: seconds that only grow.
    """

    def __init__(self, after: int, pause_s: float, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(after, pause_s, clock, opened=lambda: ModelError(Fallback.BREAKER_OPEN), ours=_ours)


def _ours(error: Exception) -> bool:
    return isinstance(error, ModelError) and error.reason in OWN
