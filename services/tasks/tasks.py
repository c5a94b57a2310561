"""Tasks: begun, changed and ended by a workflow, each change once and on the version it has seen (R52)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from events import failpoint
from events.envelope import Command, NewEvent, Part, memory_stream, task_stream
from events.errors import BadInputError, StaleVersionError, TaskRefusedError
from events.keyring import Keyring
from events.log import append, fenced, read_last
from events.model import (
    CommandId,
    ItemHead,
    ItemId,
    MemoryId,
    Scope,
    Slot,
    TaskBody,
    TaskId,
    TaskStarted,
    TurnId,
)
from events.postgres import Database
from events.vault import Vault
from projections.facts import read_memories
from projections.task_state import TASK_PART
from projections.tasks import rounds_of
from services.access.rights import TokenRole
from services.governance.folding import plain
from services.governance.secrets import redact
from services.tasks.book import Task, TaskBook
from services.tasks.closing import closing_command, closing_name, say
from services.tasks.decide import Ids, check, decide
from services.tasks.references import SEPARATOR, command_name, command_of, memories_of, messages_of, reached
from services.tasks.sealing import parts_of, sealed
from services.tasks.view import Opened
from services.wire.tasks import (
    Complete,
    TaskChange,
    TaskStart,
    TaskView,
)

PROVEN: Final = 3
"""After how many rounds that succeeded by the same steps these are proposed as a procedure."""

_ROUNDS: Final = 50


class Tasks:
    """Writes tasks; `book` shows them.

    Args:
        vault: with the right to lease keys.
        appender: a pool under `cenotaph_appender`.
        reader: a pool under `cenotaph_reader`.
    """

    def __init__(self, vault: Vault, appender: Database, reader: Database) -> None:
        self._vault = vault
        self._appender = appender
        self._reader = reader
        self.book = TaskBook(vault, reader)

    async def start(self, scope: Scope, start: TaskStart, actor: str) -> TaskView:
        """Begin a task, or find that this very command has begun it. Returns after the commit.

        Raises:
            TaskRefusedError: the id is that of another task, over or not.
        """
        keyring = await self._vault.keyring(scope)
        series_name = ("series", f"{start.type}{SEPARATOR}{start.name}")
        own_name = command_name(start.task_id, start.command_id)
        ids = await keyring.intern([("task", start.task_id), series_name, own_name])
        task_id, command_id = TaskId(ids["task", start.task_id]), command_of(keyring, ids[own_name], start)
        if scope.audience.task not in {None, task_id}:
            raise TaskRefusedError("this token is bound to another task; mint one for this task, or for none")
        found = await self.book.read(scope, start.task_id, task_id)
        if found is not None:
            return await self._begun(keyring, found, command_id)
        async with self._reader.transaction(scope) as connection:
            rounds = await rounds_of(connection, scope, ids[series_name], 1)
        texts = [start.goal, *start.constraints, *start.steps]
        slots = [Slot.GOAL, *(Slot.CONSTRAINT for _ in start.constraints), *(Slot.STEP for _ in start.steps)]
        event = TaskStarted(
            task_id=task_id,
            series_id=ids[series_name],
            round=1 + max((each.round for each in rounds), default=0),
            budget=dict(start.budget),
            expires_at=(now := datetime.now(UTC)) + timedelta(seconds=start.expires_in_s),
            items=tuple(ItemHead(item_id=ItemId(uuid4()), slot=slot) for slot in slots),
            audience=scope.audience.beyond_its_task,
        )
        *keys, head_key = await keyring.lease(len(texts) + 1)
        failpoint.hit("task.leased")
        head = TaskBody(kind=redact(start.type).text, name=redact(start.name).text)
        parts = (*parts_of(event.items, texts, keys), Part(TASK_PART, head, head_key))
        command = Command(command_id, scope, task_stream(task_id), 0, actor, (NewEvent(event, now, parts),))
        try:
            await self._append(scope, [command], ())
        except StaleVersionError:  # another one began it meanwhile
            found = await self.book.read(scope, start.task_id, task_id)
            assert found is not None, "it has a version"  # noqa: S101 - narrows the type
            return await self._begun(keyring, found, command_id)
        return await self._again(keyring, start.task_id, task_id, known=False)

    async def _begun(self, keyring: Keyring, found: Task, command: CommandId) -> TaskView:
        if not found.knows(command):
            raise TaskRefusedError("a task of this task_id was started by another command; give a new task a new id")
        return await self.book.shown(keyring, found, known=True)

    async def change(self, scope: Scope, name: str, change: TaskChange, actor: str) -> TaskView | None:
        """Change a task once; None where there is none of this id. Returns after the commit.

        Raises:
            StaleVersionError: the workflow has not seen the newest version; nothing was changed.
            TaskRefusedError: the state does not allow it; nothing was changed.
            BadInputError: it names a message or a memory that is not there.
        """
        keyring = await self._vault.keyring(scope)
        internal = await reached(keyring, name)
        if internal is None or (found := await self.book.read(scope, name, internal)) is None:
            return None
        own_name = command_name(name, change.command_id)
        command_id = command_of(keyring, (await keyring.intern([own_name]))[own_name], change)
        if found.knows(command_id):
            return await self.book.shown(keyring, found, known=True)
        opened = await self.book.open(keyring, found, TokenRole.PERSON)
        holding = [opened.texts.get(item.item_id) for item in found.state.constraints]
        now = datetime.now(UTC)
        check(found.state, change.expected_version, change.constraints, holding, now)
        messages = await messages_of(keyring, change)
        await self._memories_exist(scope, memories_of(change))
        turn_name = ("turn", closing_name(name))
        turn = TurnId((await keyring.intern([turn_name]))[turn_name])
        keys = tuple(part.key_id for stored in found.stream for part in stored.parts)
        steps = _done(opened)
        way = keyring.digest("way", SEPARATOR.join(map(plain, steps))).hex() if steps else None
        ids = Ids(lambda: ItemId(uuid4()), messages, turn, keys, way)
        written = decide(found.state, change.change, ids)
        events = await sealed(keyring, written, now)
        own = Command(command_id, scope, task_stream(found.state.task_id), found.state.version, actor, events)
        closing = []
        if isinstance(change.change, Complete):
            assert opened.head is not None, "a running task is readable"  # noqa: S101 - narrows the type
            proven = steps if await self._proven(scope, found.state.series_id, change.change, way) else ()
            said = say(change.change, opened.head, messages, proven)
            closing = [closing_command(own, found.state, turn, said, await keyring.lease(len(said)))]
        failpoint.hit("task.leased")
        await self._append(scope, [own, *closing], (*memories_of(change), *messages.values()))
        return await self._again(keyring, name, found.state.task_id, known=False)

    async def _append(self, scope: Scope, commands: Sequence[Command], resting: Sequence[UUID]) -> None:
        """Append together or not at all, while no forget of this person is under way where something is rested on.

        A forget holds the same stream (ADR 0009), so either it finds these texts, or what they rest on is found fenced.
        """
        async with self._appender.transaction() as writing:
            if resting:
                await writing.fetchval(
                    "select log.lock_stream_v1($1, $2)", scope.tenant_id, memory_stream(scope.subject_id)
                )
                async with self._reader.transaction(scope) as reading:
                    if await fenced(reading, scope, resting):
                        raise TaskRefusedError("it rests on something that was forgotten")
            answers = await append(writing, commands)
            if any(answer.outcome == "conflict" for answer in answers):
                raise StaleVersionError(await self._version(scope, commands[0].stream))
            if len(commands) > 1 and {answer.outcome for answer in answers} == {"appended", "known"}:
                raise TaskRefusedError("a turn has the name of this task's closing turn; the task cannot be completed")
        failpoint.hit("task.appended")

    async def _proven(self, scope: Scope, series: UUID, complete: Complete, way: str | None) -> bool:
        """Say whether this way has now succeeded often enough to be proposed: never after one lucky run (R15)."""
        if way is None or complete.outcome != "succeeded":
            return False
        async with self._reader.transaction(scope) as connection:
            rounds = await rounds_of(connection, scope, series, _ROUNDS)
        return 1 + sum(each.way == way and each.status == "succeeded" for each in rounds) >= PROVEN

    async def _memories_exist(self, scope: Scope, memories: Sequence[MemoryId]) -> None:
        if not memories:
            return
        async with self._reader.transaction(scope) as connection:
            known = {memory for memory, _ in await read_memories(connection, scope, memories)}
        if known != set(memories):
            raise BadInputError("memories: there is no such memory in this scope")

    async def _version(self, scope: Scope, stream: str) -> int:
        async with self._reader.transaction(scope) as connection:
            last = await read_last(connection, scope, stream)
        return 0 if last is None else last.version

    async def _again(self, keyring: Keyring, name: str, task: TaskId, *, known: bool) -> TaskView:
        found = await self.book.read(keyring.scope, name, task)
        assert found is not None, "it was appended above"  # noqa: S101 - narrows the type
        return await self.book.shown(keyring, found, known=known)


def _done(opened: Opened) -> tuple[str, ...]:
    """Return the steps that were done, in order; none where one of them can no longer be read."""
    done = [opened.texts.get(item.item_id) for item in opened.state.of(Slot.STEP, "done")]
    return tuple(text for text in done if text is not None) if None not in done else ()
