"""What a gate sees and what it answers."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from events.model import (
    PRIVATE,
    Audience,
    Frozen,
    Kind,
    MemoryBody,
    MemoryId,
    Outcome,
    PurposeId,
    Suppression,
    Turn,
    TurnId,
)
from services.governance.policy import Policy
from services.governance.reasons import Reason


class Writing(StrEnum):
    """How a candidate is written: as a memory of its own, onto one that is there, or beside one it contradicts."""

    ACCEPT = "accept"
    REINFORCE = "reinforce"
    SUPERSEDE = "supersede"
    DISPUTE = "dispute"


class Target(NamedTuple):
    """The memory version that a candidate reinforces or replaces."""

    memory_id: MemoryId
    version: int


class Living(Frozen):
    """A current memory of the person, decrypted. Thousandths for confidence and importance.

    `occurred_at` is when the person last said it: what was said again counts as said then, or a statement from in
    between that arrives late would replace it (R20). A candidate meets only what is for the same `audience`.
    """

    memory_id: MemoryId
    version: int
    claim: MemoryBody
    confidence: int
    importance: int
    recorded_at: datetime
    occurred_at: datetime
    turn_id: TurnId
    in_conflict: bool = False
    audience: Audience = PRIVATE


class View(Frozen):
    """Everything a gate may look at.

    `suppressions` are those of this turn; `described` says, by the content of a candidate, how much it is about what
    the person said earlier not to remember (`aboutness`). `consents` names the sensitive classes the person opened,
    `withdrawn` those they closed again, `purposes` for which purposes alone one is open; `alike` says, by the content
    of a candidate without a semantic key, how close the memories are that it may correct (`renewal`); `counts` says how
    many living memories of a kind there are. `owners` names the business systems that own semantic keys (R14); every
    other key is the person's.
    `succeeds` is the memory whose place the candidate at hand was found to take, told by its words (`succession`).
    `forgotten` are the topics (`topic_basis`) of this turn that were forgotten after it was said.
    """

    turn: Turn
    suppressions: tuple[Suppression, ...]
    living: tuple[Living, ...]
    policy: Policy
    described: dict[str, float] = Field(default_factory=dict)
    alike: dict[str, dict[MemoryId, float]] = Field(default_factory=dict)
    consents: frozenset[str] = frozenset()
    withdrawn: frozenset[str] = frozenset()
    purposes: dict[str, frozenset[PurposeId]] = Field(default_factory=dict)
    counts: dict[Kind, int] = Field(default_factory=dict)
    forgotten: frozenset[str] = frozenset()
    owners: dict[str, str] = Field(default_factory=dict)
    succeeds: MemoryId | None = None


class Ruling(Frozen):
    """What became of a candidate, at which gate, and why.

    `target` is set for reinforce, supersede and dispute. `settles` names what no longer waits.
    """

    outcome: Writing | Outcome
    gate: str
    reason: str
    target: Target | None = None
    settles: tuple[MemoryId, ...] = ()


def rule(
    outcome: Writing | Outcome, reason: Reason, target: Living | None = None, settles: Iterable[MemoryId] = ()
) -> Ruling:
    """Make the ruling of the gate that a reason belongs to."""
    found = Target(target.memory_id, target.version) if target else None
    return Ruling(outcome=outcome, gate=reason.gate, reason=reason.value, target=found, settles=tuple(settles))
