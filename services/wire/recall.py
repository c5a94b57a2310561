"""Asking for context and searching (R31, R35)."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from events.model import Frozen, Kind, MemoryId
from services.wire.memories import MemoryView
from services.wire.request import Request
from services.wire.text import OutsideId, Query


class RecallRole(StrEnum):
    """What the asking agent is doing; it sees what that needs and no more (R31)."""

    CHAT = "chat"
    PLANNER = "planner"
    SEARCH = "search"
    GENERATOR = "generator"


class RankingPreset(StrEnum):
    """What counts how much when memories are ranked (R33); the weights are in `services/recall/ranking.py`."""

    DEFAULT = "default"
    SUPPORT = "support"
    MEDICAL = "medical"
    CODING = "coding"
    AUTHORITY = "authority"


# The strict ones refuse "800", 800.0 and true: a wrong type is the caller's error, not ours to guess.
AtLeast = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]


class ContextRequest(Request):
    """What the compiler fills, for whom; `at_least` is a position the answer must have seen."""

    query: Query
    role: RecallRole
    token_budget: Annotated[int, Field(ge=50, le=8_000, strict=True)] = 800
    preset: RankingPreset = RankingPreset.DEFAULT
    session_id: OutsideId | None = None
    task_id: OutsideId | None = None
    at_least: AtLeast | None = None


class Cited(Frozen):
    """A memory that stands in the text.

    `may_drive_a_write` is False where its lease has run out or it is in conflict: a hint that no action may rest on
    before it was checked with its authority (R20, R34).
    """

    memory_id: MemoryId
    version: int
    kind: Kind
    score: float
    may_drive_a_write: bool = True


class LeftOut(Frozen):
    """What did not get in, and why; no id where it is not a memory."""

    memory_id: MemoryId | None
    reason: str


class Section(Frozen):
    """One labelled part of the text."""

    name: str
    lines: tuple[str, ...]


class ContextAnswer(Frozen):
    """Compiled text for the system prompt. Hand `context_id` back with the turn it went into.

    `degraded` names the recall paths that did not answer; memories that only they find are missing.
    """

    context_id: UUID
    text: str
    used_tokens: int
    token_budget: int
    memories: tuple[Cited, ...]
    left_out: tuple[LeftOut, ...]
    sections: tuple[Section, ...]
    degraded: tuple[str, ...] = ()


class SearchRequest(Request):
    """A search over one person's memories."""

    query: Query
    limit: Annotated[int, Field(ge=1, le=50, strict=True)] = 8
    role: RecallRole = RecallRole.CHAT
    preset: RankingPreset = RankingPreset.DEFAULT
    at_least: AtLeast | None = None


class Found(MemoryView):
    """A memory with its rank score."""

    score: float


class SearchAnswer(Frozen):
    """What was found, best first; `degraded` names the recall paths that did not answer.

    Hand `context_id` back with the turn in which it was used, as that of a context.
    """

    context_id: UUID
    memories: tuple[Found, ...]
    degraded: tuple[str, ...] = ()
