"""Reading tasks: one as its stream says it is, or a page of them (R52)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from events.envelope import StoredEvent, task_stream
from events.errors import TaskRefusedError
from events.keyring import Keyring
from events.log import read_stream
from events.model import CommandId, Scope, TaskId
from events.postgres import Database
from events.vault import Vault
from projections.task_state import TaskState, fold
from projections.tasks import recent_tasks
from services.access.rights import TokenRole
from services.tasks.references import reached, same_command
from services.tasks.view import Opened, open_task, view_of
from services.wire.cursor import cursor_of, read_cursor
from services.wire.tasks import TaskPage, TaskSummary, TaskView


@dataclass(frozen=True, slots=True)
class Task:
    """One task as its stream says it is, under its outside id."""

    name: str
    stream: list[StoredEvent]
    state: TaskState

    def knows(self, command: CommandId) -> bool:
        """Tell whether a command has changed it before.

        Raises:
            TaskRefusedError: one of its name has, which said something else.
        """
        named = next((each.command_id for each in self.stream if same_command(each.command_id, command)), None)
        if named not in {None, command}:
            raise TaskRefusedError("this command_id is known with another body; give a new command a new id")
        return named is not None


class TaskBook:
    """Shows tasks, as far as a credential reaches.

    Args:
        vault: with the right to open keys.
        reader: a pool under `cenotaph_reader`.
    """

    def __init__(self, vault: Vault, reader: Database) -> None:
        self._vault = vault
        self._reader = reader

    async def show(self, scope: Scope, name: str, *, reader: TokenRole = TokenRole.AGENT) -> TaskView | None:
        """Show a task as it is now, with the texts that the reader may read; None where there is none of this id."""
        keyring = await self._vault.keyring(scope)
        internal = await reached(keyring, name)
        if internal is None or (found := await self.read(scope, name, internal)) is None:
            return None
        return await self.shown(keyring, found, known=False, reader=reader)

    async def page(self, scope: Scope, limit: int, cursor: str | None) -> TaskPage:
        """List tasks, newest first.

        Raises:
            BadInputError: the cursor is not one that was given out here.
        """
        before = None if cursor is None else read_cursor(cursor, datetime.fromisoformat, UUID)
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            tasks = await recent_tasks(
                connection, scope, limit + 1, None if before is None else (before[0], TaskId(before[1]))
            )
        names = await keyring.outside([task.task_id for task in tasks[:limit]])
        last = tasks[limit - 1] if len(tasks) > limit else None
        return TaskPage(
            tasks=tuple(
                TaskSummary(
                    task_id=names.get(task.task_id, ""),
                    round=task.round,
                    status=task.status,
                    version=task.version,
                    errors=task.errors,
                    started_at=task.started_at,
                    expires_at=task.expires_at,
                )
                for task in tasks[:limit]
            ),
            next_cursor=None if last is None else cursor_of(last.started_at, last.task_id),
        )

    async def read(self, scope: Scope, name: str, task: TaskId) -> Task | None:
        """Read a task by its internal id; None where there is none."""
        async with self._reader.transaction(scope) as connection:
            stream = await read_stream(connection, scope, task_stream(task))
        state = fold(None, stream)
        return None if state is None else Task(name, stream, state)

    async def open(self, keyring: Keyring, found: Task, reader: TokenRole) -> Opened:
        """Open what a reader may read of it."""
        async with self._reader.transaction(keyring.scope) as connection:
            return await open_task(connection, keyring, found.stream[0], found.state, reader)

    async def shown(
        self, keyring: Keyring, found: Task, *, known: bool, reader: TokenRole = TokenRole.AGENT
    ) -> TaskView:
        """Show a task that was read; `known` where the command that asks had changed it before."""
        opened = await self.open(keyring, found, reader)
        async with self._reader.transaction(keyring.scope) as connection:
            return await view_of(connection, keyring, found.name, opened, known=known)
