"""Tasks that were not over in time: ended, and their texts with them (R52). A job of upkeep."""

from datetime import datetime
from typing import ClassVar
from uuid import uuid5

from events.envelope import Command, NewEvent, task_stream
from events.log import append, read_stream
from events.model import CommandId, Scope, TaskExpired, TaskId
from events.postgres import Connection, Database
from projections.task_state import fold
from projections.tasks import overdue, overdue_of
from services.tasks.decide import lapsed
from services.upkeep.job import ACTOR, Action, Plan, scopes_of


class TaskExpiry:
    """Appends `task_expired` for tasks whose time is over, and `expired` for their texts.

    Each on the version its stream has at that moment: a task that is changed or ended meanwhile is left to a later
    round.

    Args:
        eraser: a pool under `cenotaph_eraser`.
    """

    name: ClassVar[str] = "expire_tasks"

    def __init__(self, eraser: Database) -> None:
        self._eraser = eraser

    async def due(self, now: datetime) -> list[Scope]:
        """Name whose tasks are overdue, the longest first."""
        async with self._eraser.connection() as connection:
            return scopes_of(await overdue(connection, now))

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say which tasks end; the task store may not know yet that one is over."""
        async with self._eraser.connection() as connection:
            late = await overdue_of(connection, scope, now)
            commands = [command for task in late if (command := await _command(connection, scope, task, now))]
        if not commands:
            return None
        events = tuple(new.event for command in commands for new in command.events)
        action = Action(what="expire", reason="overdue", tasks=tuple(_tasks(events)))
        return Plan(self.name, scope, 0, (action,), events)

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """End them; False where every one was changed or ended meanwhile."""
        async with self._eraser.transaction() as connection:
            commands = [await _command(connection, plan.scope, task, now) for task in _tasks(plan.events)]
            answers = await append(connection, [command for command in commands if command is not None])
        return any(answer.outcome == "appended" for answer in answers)


def _tasks(events: tuple[object, ...]) -> list[TaskId]:
    return [event.task_id for event in events if isinstance(event, TaskExpired)]


async def _command(connection: Connection, scope: Scope, task: TaskId, now: datetime) -> Command | None:
    """Write the end of a task that is still running."""
    stream = await read_stream(connection, scope, task_stream(task))
    state = fold(None, stream)
    if state is None or state.status != "running":
        return None
    written = lapsed(state, (part.key_id for stored in stream for part in stored.parts))
    return Command(
        CommandId(uuid5(task, "expired")),
        scope,
        task_stream(task),
        state.version,
        ACTOR,
        tuple(NewEvent(each.event, now) for each in written),
    )
