"""What ranking needs of current memory versions, in ids, numbers and a time: a recall reads hundreds, and opens few."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple

from events.model import (
    AssistantId,
    Audience,
    EventId,
    Kind,
    MemoryId,
    ProjectId,
    PurposeId,
    Scope,
    TaskId,
    TurnId,
)
from events.postgres import Connection
from projections.changes import Fact, Place, Status


class Brief(NamedTuple):
    """A memory version in brief, as `Fact` has it; a tuple, as each is made in less than a microsecond."""

    memory_id: MemoryId
    version: int
    kind: Kind
    status: Status
    event_id: EventId
    turn_id: TurnId
    confidence: int
    importance: int
    occurred_at: datetime
    gate: str | None
    suspended: bool
    project: ProjectId | None
    task: TaskId | None
    assistant: AssistantId | None
    purpose: PurposeId | None
    moved_on: bool

    @property
    def audience(self) -> Audience:
        """Which readers it is for."""
        return Audience(project=self.project, task=self.task, assistant=self.assistant, purpose=self.purpose)


Briefs = dict[Place, Brief]

COLUMNS: Final = ", ".join(Brief._fields)
_KIND: Final = Brief._fields.index("kind")
_KINDS: Final = {kind.value: kind for kind in Kind}


def brief_of(fact: Fact) -> Brief:
    """Shorten a fact."""
    return Brief(*(getattr(fact, name) for name in Brief._fields))


def briefs_from(rows: Iterable[Iterable[Any]]) -> Briefs:
    """Read rows back that have the `COLUMNS` of a brief, in their order."""
    briefs: Briefs = {}
    for row in rows:
        values = list(row)
        values[_KIND] = _KINDS[values[_KIND]]
        brief = Brief._make(values)
        briefs[brief.memory_id, brief.version] = brief
    return briefs


async def read_briefs(connection: Connection, scope: Scope, memories: Collection[MemoryId]) -> Briefs:
    """Read the current versions of some memories of one person."""
    rows = await connection.fetch(
        f"select {COLUMNS} from facts.memory where tenant_id = $1 and subject_id = $2"
        " and memory_id = any($3::uuid[]) and status in ('current', 'in_conflict')",
        scope.tenant_id,
        scope.subject_id,
        list(memories),
    )
    return briefs_from(row.values() for row in rows)
