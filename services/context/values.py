"""What goes into a context and what comes out of it, as frozen values."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from events.model import Kind, MemoryId, MessageId, Role
from services.context.roles import Part

Reason = Literal["role", "limit", "budget", "duplicate", "empty"]


@dataclass(frozen=True, slots=True)
class Item:
    """A memory that recall found for this context; its flags stand beside it in the text."""

    memory_id: MemoryId
    version: int
    kind: Kind
    content: str
    score: float
    key: str | None = None
    stale: bool = False
    recheck: bool = False
    in_conflict: bool = False
    source_forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a recent turn."""

    message_id: MessageId
    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Summed:
    """A line of the session's summary, and the memories it rests on."""

    item_id: UUID
    slot: str
    text: str
    memories: frozenset[MemoryId] = frozenset()


@dataclass(frozen=True, slots=True)
class TaskFact:
    """A key fact of a task, and the memories it rests on."""

    text: str
    memories: frozenset[MemoryId] = frozenset()


@dataclass(frozen=True, slots=True)
class Task:
    """The state of the task at hand: what must hold stands first. `result` says where the last tool result lies."""

    task_id: UUID
    goal: str
    constraints: tuple[str, ...] = ()
    step: str | None = None
    pending: tuple[str, ...] = ()
    facts: tuple[TaskFact, ...] = ()
    result: str | None = None

    def without(self, memories: Collection[UUID]) -> "Task":
        """Leave out the facts that rest on some memories; the result, which may, goes too."""
        if not memories:
            return self
        return replace(self, facts=tuple(each for each in self.facts if not each.memories & {*memories}), result=None)


@dataclass(frozen=True, slots=True)
class Cited:
    """A memory version that stands in the text, and in which section."""

    memory_id: MemoryId
    version: int
    part: Part


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What did not get in: the id of a memory (with its version), a message or a task, and why."""

    id: UUID
    version: int | None
    reason: Reason


@dataclass(frozen=True, slots=True)
class Section:
    """One labelled part of the text; the lines as they stand in it."""

    name: Part
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A context within its budget. With nothing to say the text is empty and costs nothing."""

    text: str
    sections: tuple[Section, ...]
    used_tokens: int
    cited: tuple[Cited, ...]
    left_out: tuple[LeftOut, ...]
