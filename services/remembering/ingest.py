"""Taking in a finished turn: secrets out, content sealed, appended before anything is acknowledged (R10)."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from uuid import UUID

from events import failpoint
from events.bodies import Lost, Shredded, open_bodies
from events.envelope import Command, NewEvent, Part, StoredEvent, finalized_command, memory_stream, turns_stream
from events.errors import ErasedError, TurnConflictError
from events.keyring import Keyring, Name
from events.log import Answer, EventLog, append, read_command
from events.model import (
    FROM_CONTEXT,
    CommandId,
    MessageBody,
    MessageHead,
    MessageId,
    Position,
    Scope,
    SessionId,
    TurnFinalized,
    TurnId,
)
from events.postgres import Connection, Database
from events.vault import Vault
from projections.sessions import message_part
from services.governance.secrets import redact
from services.wire.names import message_name
from services.wire.turns import MessageIn, TurnAnswer, TurnIn

_SEALED_WITHIN_S = 0.3
_POLL_S = 0.01


class Ingest:
    """Stores finished turns, each once.

    Args:
        vault: with the right to lease keys.
        log: the write path.
        reader: a pool under `cenotaph_reader`.
        appender: a pool under `cenotaph_appender`.
    """

    def __init__(self, vault: Vault, log: EventLog, reader: Database, appender: Database) -> None:
        self._vault = vault
        self._log = log
        self._reader = reader
        self._appender = appender

    async def finalize(self, scope: Scope, turn: TurnIn, actor: str) -> TurnAnswer:
        """Store a turn, or find that it is known or forgotten, or that all of the person is. Returns after the commit.

        Raises:
            TurnConflictError: the turn id is known with another body.
            UnavailableError: a store does not answer; send the same turn again.
        """
        try:
            return await self._finalize(scope, turn, actor)
        except ErasedError:
            return TurnAnswer(turn_id=turn.turn_id, state="forgotten")

    async def _finalize(self, scope: Scope, turn: TurnIn, actor: str) -> TurnAnswer:
        messages, redacted = _without_secrets(turn)
        keyring = await self._vault.keyring(scope)
        if keyring.since is not None and turn.occurred_at <= keyring.since:
            return TurnAnswer(turn_id=turn.turn_id, state="forgotten")  # said before the person was forgotten
        names = [message_name(turn.turn_id, message.message_id) for message in messages]
        ids = await keyring.intern([("turn", turn.turn_id), ("session", turn.session_id), *names])
        turn_id = TurnId(ids["turn", turn.turn_id])
        command_id = finalized_command(turn_id)
        answer = TurnAnswer(turn_id=turn.turn_id, state="known", redacted=redacted)
        if known := await self._known(scope, command_id):
            return answer.model_copy(update=await self._compare(keyring, known[0], turn, messages, ids))
        build = partial(_command, keyring, turn, messages, ids, actor)
        if turn.contexts:
            appended = await self._append_answered(scope, turn.contexts, build)
        else:
            appended = await self._log.append(await build(withhold=False))
        if appended.outcome == "erased":
            raise ErasedError(scope.subject_id)
        failpoint.hit("ingest.appended")
        if appended.outcome == "known":  # the same turn id came twice at once, perhaps with another body
            (stored,) = await self._known(scope, command_id)
            return answer.model_copy(update=await self._compare(keyring, stored, turn, messages, ids))
        return answer.model_copy(update={"state": "stored", "position": await self._sealed(scope, command_id)})

    async def _append_answered(
        self, scope: Scope, contexts: Collection[UUID], build: Callable[..., Awaitable[Command]]
    ) -> Answer:
        """Append a turn that was answered from compiled contexts, while no forget of this person is under way.

        A forget holds the same stream (ADR 0009). So either it finds this turn, or it is found here: then what an agent
        said from what is forgotten is not stored at all (R41).
        """
        async with self._appender.transaction() as writing:
            await writing.fetchval(
                "select log.lock_stream_v1($1, $2)", scope.tenant_id, memory_stream(scope.subject_id)
            )
            async with self._reader.transaction(scope.person) as reading:
                withhold = await _held_what_is_forgotten(reading, scope, contexts)
            (answer,) = await append(writing, [await build(withhold=withhold)])
        return answer

    async def _compare(
        self,
        keyring: Keyring,
        stored: StoredEvent,
        turn: TurnIn,
        messages: list[MessageIn],
        ids: Mapping[Name, UUID],
    ) -> dict[str, object]:
        """Say whether what came again is what is stored."""
        event = stored.event
        assert isinstance(event, TurnFinalized), "the command id is made for this type only"  # noqa: S101 - narrows the type
        async with self._reader.transaction(keyring.scope) as connection:
            opened = await open_bodies(connection, keyring, ((stored, part.name) for part in stored.parts))
        if any(isinstance(body, Shredded | Lost) for body in opened.values()):
            return {"state": "forgotten"}
        known = [
            (
                head.message_id,
                head.role,
                head.origin,
                opened[stored.event_id, message_part(head.message_id)],
            )
            for head in event.messages
        ]
        again = [
            (
                ids[message_name(turn.turn_id, message.message_id)],
                message.role,
                message.origin,
                MessageBody(content=message.content).model_dump_json().encode(),
            )
            for message in messages
            if ids[message_name(turn.turn_id, message.message_id)] not in event.withheld
        ]
        frame = (event.status, stored.occurred_at, event.session_id, event.contexts)
        if known != again or frame != (turn.status, turn.occurred_at, ids["session", turn.session_id], turn.contexts):
            raise TurnConflictError("this turn_id is known with another body; give a new turn a new id")
        return {"state": "known", "position": stored.position}

    async def _known(self, scope: Scope, command_id: CommandId) -> list[StoredEvent]:
        async with self._reader.transaction(scope) as connection:
            return await read_command(connection, command_id)

    async def _sealed(self, scope: Scope, command_id: CommandId) -> Position | None:
        """Wait a moment for the position; the turn is stored with or without it."""
        deadline = asyncio.get_running_loop().time() + _SEALED_WITHIN_S
        while True:
            events = await self._known(scope, command_id)
            if events and events[0].position is not None:
                return events[0].position
            if asyncio.get_running_loop().time() > deadline:
                return None
            await asyncio.sleep(_POLL_S)


async def _command(
    keyring: Keyring, turn: TurnIn, messages: list[MessageIn], ids: Mapping[Name, UUID], actor: str, *, withhold: bool
) -> Command:
    """Seal a turn, each message under a key of its own, into the one command that stores it."""
    turn_id, subject = TurnId(ids["turn", turn.turn_id]), keyring.scope.subject_id
    every = [
        (
            message.content,
            MessageHead(
                message_id=MessageId(ids[message_name(turn.turn_id, message.message_id)]),
                role=message.role,
                origin=message.origin,
            ),
        )
        for message in messages
    ]
    kept = [(content, head) for content, head in every if not (withhold and head.origin in FROM_CONTEXT)]
    keys = await keyring.lease(len(kept))
    failpoint.hit("ingest.leased")
    event = TurnFinalized(
        turn_id=turn_id,
        session_id=SessionId(ids["session", turn.session_id]),
        status=turn.status,
        messages=tuple(head for _, head in kept),
        contexts=turn.contexts,
        withheld=tuple(head.message_id for _, head in every if withhold and head.origin in FROM_CONTEXT),
        audience=keyring.scope.audience,
    )
    parts = tuple(
        Part(message_part(head.message_id), MessageBody(content=content), key)
        for (content, head), key in zip(kept, keys, strict=True)
    )
    new = NewEvent(event, turn.occurred_at, parts)
    return Command(finalized_command(turn_id), keyring.scope, turns_stream(subject), None, actor, (new,))


async def _held_what_is_forgotten(connection: Connection, scope: Scope, contexts: Collection[UUID]) -> bool:
    """Say whether something that went into one of these contexts is forgotten: marked since, or fenced just now."""
    found: bool = await connection.fetchval(
        """select exists (
             select from ops.read r where r.tenant_id = $1 and r.subject_id = $2 and r.read_id = any($3::uuid[])
               and (r.forgotten or exists (
                 select from log.fence f where f.tenant_id = $1 and f.target = any(r.memories))))""",
        scope.tenant_id,
        scope.subject_id,
        list(contexts),
    )
    return found


def _without_secrets(turn: TurnIn) -> tuple[list[MessageIn], dict[str, int]]:
    counts: Counter[str] = Counter()
    messages = []
    for message in turn.messages:
        redacted = redact(message.content)
        counts.update(redacted.classes)
        messages.append(message.model_copy(update={"content": redacted.text}))
    return messages, dict(counts)
