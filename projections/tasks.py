"""The task store: which tasks there are and how each stands; their texts stay sealed in the log's bodies (R52)."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import ClassVar, Final
from uuid import UUID

import orjson

from events.envelope import StoredEvent
from events.model import (
    Audience,
    EventId,
    Expired,
    ItemId,
    KeyId,
    MemoryId,
    MessageId,
    Scope,
    Slot,
    TaskId,
    Tombstoned,
    TurnId,
)
from events.postgres import Connection, Row
from projections.model import Tables
from projections.task_state import Item, TaskState, fold

_STREAM: Final = "task/"


class Tasks(Tables):
    """The projection."""

    name: ClassVar[str] = "tasks"
    version: ClassVar[int] = 1

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Fold a batch, task by task, then mark the texts that were forgotten: always behind their writing."""
        by_task: dict[tuple[Scope, TaskId], list[StoredEvent]] = defaultdict(list)
        for stored in events:
            if stored.stream.startswith(_STREAM):
                by_task[stored.scope, TaskId(UUID(stored.stream.removeprefix(_STREAM)))].append(stored)
        for (scope, task), own in by_task.items():
            before = await read_task(connection, scope, task, place)
            after = fold(before, (each for each in own if before is None or each.version > before.version))
            if after is not None:
                await _write(connection, place, scope, before, after)
        for stored in events:
            if isinstance(event := stored.event, Tombstoned | Expired):
                await connection.execute(
                    f"update {place}.item set gone = true where tenant_id = $1 and key_id = any($2::uuid[])",
                    stored.scope.tenant_id,
                    list(event.keys),
                )


async def _write(connection: Connection, place: str, scope: Scope, before: TaskState | None, state: TaskState) -> None:
    await connection.execute(
        f"""insert into {place}.task values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
                                            $16, $17, $18)
            on conflict (tenant_id, task_id) do update set status = excluded.status, version = excluded.version,
              errors = excluded.errors, budget = excluded.budget, changed_at = excluded.changed_at,
              turn_id = excluded.turn_id, way = excluded.way""",
        scope.tenant_id,
        scope.subject_id,
        state.task_id,
        state.series_id,
        state.round,
        state.status,
        state.version,
        state.errors,
        orjson.dumps(dict(state.budget)).decode(),
        state.started_at,
        state.changed_at,
        state.expires_at,
        state.event_id,
        state.turn_id,
        state.way,
        state.audience.project,
        state.audience.assistant,
        state.audience.purpose,
    )
    await connection.execute(
        f"delete from {place}.item where tenant_id = $1 and task_id = $2 and not item_id = any($3::uuid[])",
        scope.tenant_id,
        state.task_id,
        [item.item_id for item in state.items],
    )
    known = set() if before is None else set(before.items)
    for ordinal, item in enumerate(state.items):
        if item not in known:
            await connection.execute(
                f"""insert into {place}.item values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, false)
                    on conflict (tenant_id, task_id, item_id) do update set standing = excluded.standing""",
                scope.tenant_id,
                scope.subject_id,
                state.task_id,
                item.item_id,
                ordinal,
                item.slot,
                item.standing,
                list(item.memories),
                list(item.messages),
                item.event_id,
                item.key_id,
                item.version,
            )


async def read_task(connection: Connection, scope: Scope, task: TaskId, place: str = "tasks") -> TaskState | None:
    """Read one task as the read model has it; readers that must not lag fold its stream instead."""
    row = await connection.fetchrow(
        f"select * from {place}.task where tenant_id = $1 and subject_id = $2 and task_id = $3",
        scope.tenant_id,
        scope.subject_id,
        task,
    )
    if row is None:
        return None
    items = await connection.fetch(
        f"select * from {place}.item where tenant_id = $1 and task_id = $2 order by ordinal", scope.tenant_id, task
    )
    return _state(row, items)


async def recent_tasks(
    connection: Connection, scope: Scope, limit: int, before: tuple[datetime, TaskId] | None = None
) -> list[TaskState]:
    """Read one page of a person's tasks without their items, newest first."""
    at, task = before or (None, None)
    rows = await connection.fetch(
        """select * from tasks.task where tenant_id = $1 and subject_id = $2
             and ($3::timestamptz is null or (started_at, task_id) < ($3, $4::uuid))
           order by started_at desc, task_id desc limit $5""",
        scope.tenant_id,
        scope.subject_id,
        at,
        task,
        limit,
    )
    return [_state(row, ()) for row in rows]


async def rounds_of(connection: Connection, scope: Scope, series: UUID, limit: int) -> list[TaskState]:
    """Read the last rounds of one task without their items, newest first."""
    rows = await connection.fetch(
        """select * from tasks.task where tenant_id = $1 and subject_id = $2 and series_id = $3
           order by round desc, started_at desc limit $4""",
        scope.tenant_id,
        scope.subject_id,
        series,
        limit,
    )
    return [_state(row, ()) for row in rows]


async def overdue(connection: Connection, now: datetime) -> list[Row]:
    """Name all people, by tenant and person, with a task that should be over by now, the longest overdue first."""
    return await connection.fetch(
        """select tenant_id, subject_id from tasks.task where status = 'running' and expires_at < $1
           group by tenant_id, subject_id order by min(expires_at), tenant_id, subject_id""",
        now,
    )


async def overdue_of(connection: Connection, scope: Scope, now: datetime) -> list[TaskId]:
    """Name one person's tasks that should be over by now."""
    rows = await connection.fetch(
        """select task_id from tasks.task
           where status = 'running' and expires_at < $1 and tenant_id = $2 and subject_id = $3 order by task_id""",
        now,
        scope.tenant_id,
        scope.subject_id,
    )
    return [TaskId(row["task_id"]) for row in rows]


def _state(row: Row, items: Collection[Row]) -> TaskState:
    return TaskState(
        task_id=TaskId(row["task_id"]),
        series_id=row["series_id"],
        round=row["round"],
        status=row["status"],
        version=row["version"],
        errors=row["errors"],
        budget=dict(row["budget"]),
        started_at=row["started_at"],
        changed_at=row["changed_at"],
        expires_at=row["expires_at"],
        event_id=EventId(row["event_id"]),
        turn_id=None if row["turn_id"] is None else TurnId(row["turn_id"]),
        way=row["way"],
        audience=Audience(project=row["project"], assistant=row["assistant"], purpose=row["purpose"]),
        items=tuple(
            Item(
                item_id=ItemId(item["item_id"]),
                slot=Slot(item["slot"]),
                standing=item["standing"],
                memories=tuple(map(MemoryId, item["memories"])),
                messages=tuple(map(MessageId, item["messages"])),
                event_id=EventId(item["event_id"]),
                key_id=KeyId(item["key_id"]),
                version=item["version"],
            )
            for item in items
        ),
    )
