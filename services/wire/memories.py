"""A memory as its owner sees it."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from events.model import Assertion, Frozen, Kind, MemoryId, Unit
from services.wire.request import Request
from services.wire.text import OutsideId

Withheld = Literal["consent_withdrawn", "needs_consent", "suspended", "person_only", "retention_over"]


class MemoryStatus(StrEnum):
    """Where a memory stands now."""

    ACTIVE = "active"
    HELD = "held"
    SUPERSEDED = "superseded"
    IN_CONFLICT = "in_conflict"
    MERGED = "merged"
    EXPIRED = "expired"
    FORGOTTEN = "forgotten"


class Source(Frozen):
    """The words a memory rests on: `content[start:end]` of that message, under the ids the caller gave them."""

    turn_id: str
    message_id: str
    start: int
    end: int
    state: Literal["readable", "forgotten", "expired"]


class MemoryView(Frozen):
    """One version of a memory. A forgotten or expired one is a stone: ids, kind, times and numbers, nothing said.

    `version` is None for a held candidate, which is no version of anything yet; `reason` says why it is held.
    `withheld` says that it is suspended, its sensitive class closed, or its field of the profile the person's alone or
    kept long enough: an agent sees such a one as a stone, the person what it says.
    `freshness` says of an active one whether it may be used as it is (R34). One of the visibility `project` is
    for the agents of that project and the person, one with a `task_id`, an `assistant` or a `purpose` for that alone.
    """

    memory_id: MemoryId
    version: int | None
    status: MemoryStatus
    kind: Kind
    key: str | None = None
    value: str | None = None
    content: str | None = None
    scope: str | None = None
    positive: bool | None = None
    assertion: Assertion | None = None
    confidence: Unit
    importance: Unit
    recorded_at: datetime
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    sources: tuple[Source, ...] = ()
    reason: str | None = None
    sensitivity: str | None = None
    withheld: Withheld | None = None
    freshness: Literal["fresh", "stale", "require_authoritative_recheck"] | None = None
    visibility: Literal["private", "project"] | None = None
    project: str | None = None
    task_id: str | None = None
    assistant: str | None = None
    purpose: str | None = None


class MemoryDetail(MemoryView):
    """A memory with all its versions, oldest first."""

    versions: tuple[MemoryView, ...]


class MemoryPage(Frozen):
    """Some memories, newest first, and where the next page starts."""

    memories: tuple[MemoryView, ...]
    next_cursor: str | None = None


class MoveRequest(Request):
    """Which readers a memory is for: of a project or private, of all assistants or one, for any purpose or one."""

    project: OutsideId | None = None
    assistant: OutsideId | None = None
    purpose: OutsideId | None = None


class AudienceView(Frozen):
    """Which readers a memory is for, and since which version."""

    memory_id: MemoryId
    version: int
    visibility: Literal["private", "project"]
    project: str | None = None
    assistant: str | None = None
    purpose: str | None = None


class SuspensionView(Frozen):
    """Whether a memory is set aside. Suspending destroys nothing and can be taken back, unlike forgetting."""

    memory_id: MemoryId
    suspended: bool
    reversible: Literal[True] = True
