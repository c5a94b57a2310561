"""The moment of forgetting: one transaction holds the tombstone and the fence (R41)."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid5

import structlog

from events.bodies import open_bodies
from events.envelope import Command, NewEvent, StoredEvent, memory_stream, stored, turns_stream
from events.errors import CenotaphError
from events.log import append, read_command, read_stream, read_turns
from events.model import MEMORY_PART, CommandId, EventId, MemoryBody, MemoryId, Scope, TurnFinalized, TurnId
from events.postgres import Connection, Database
from events.vault import Vault
from projections.follower import position_of
from projections.sessions import turns_with_contexts
from services.forgetting.plan import plan, trace
from services.governance.topic import topic_of

_TOPICS_S = 1.0
log = structlog.get_logger(__name__)


class Forgetter:
    """Appends tombstones. Erasing and proving is the finisher's job.

    Args:
        appender: a pool under `cenotaph_appender`.
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys, for what the memory was about.
    """

    def __init__(self, appender: Database, reader: Database, vault: Vault) -> None:
        self._appender = appender
        self._reader = reader
        self._vault = vault

    async def forget(self, scope: Scope, memory_id: MemoryId, actor: str) -> EventId | None:
        """Fence a memory and name all that goes with it; return the tombstone's id, None where there is none such.

        The person's memory stream is held meanwhile, so no version can be added behind the plan's back. Forgetting
        again returns the first tombstone.
        """
        stream_name = memory_stream(scope.subject_id)
        async with self._appender.transaction() as writing:
            held = await writing.fetchval("select log.lock_stream_v1($1, $2)", scope.tenant_id, stream_name)
            if not held:
                return None
            async with self._reader.transaction(scope) as reading:
                stream = await read_stream(reading, scope, stream_name)
                found = trace(stream, memory_id)
                if found.tombstone is not None:
                    return found.tombstone.event_id
                if not found.versions:
                    return None
                turns = await read_turns(reading, sorted(found.turns))
                injected = await read_turns(reading, sorted(await _injected(reading, scope, memory_id)))
            event = plan(stream, found, memory_id, turns, injected)
            event = event.model_copy(update={"topics": await self._topics(scope, found.versions)})
            command = Command(
                CommandId(uuid5(memory_id, "forget")),
                scope,
                stream_name,
                None,
                actor,
                (NewEvent(event, datetime.now(UTC)),),
            )
            await append(writing, [command])
        async with self._reader.transaction(scope) as reading:
            (tombstone,) = await read_command(reading, command.command_id)
        return tombstone.event_id

    async def _topics(self, scope: Scope, versions: Sequence[StoredEvent]) -> tuple[str, ...] | None:
        """Digest what the versions are about, None where one cannot be read: the fence never waits for the vault."""
        try:
            async with asyncio.timeout(_TOPICS_S), self._reader.transaction(scope) as connection:
                keyring = await self._vault.keyring(scope)
                opened = await open_bodies(connection, keyring, ((version, MEMORY_PART) for version in versions))
        except (CenotaphError, OSError, TimeoutError) as error:
            log.warning("topics_unread", error=type(error).__name__)
            return None
        topics = {
            topic_of(keyring, MemoryBody.model_validate_json(body))
            for body in opened.values()
            if isinstance(body, bytes)
        }
        return tuple(sorted(topics)) if all(isinstance(body, bytes) for body in opened.values()) else None


async def _injected(connection: Connection, scope: Scope, memory_id: MemoryId) -> set[TurnId]:
    """Say into which turns a context that held the memory was injected."""
    rows = await connection.fetch(
        "select read_id from ops.read where tenant_id = $1 and subject_id = $2 and memories @> array[$3::uuid]",
        scope.tenant_id,
        scope.subject_id,
        memory_id,
    )
    contexts = {UUID(str(row["read_id"])) for row in rows}
    if not contexts:
        return set()
    followed = await turns_with_contexts(connection, scope, contexts)
    return followed | {turn.turn_id for turn in await _unfollowed(connection, scope) if contexts & {*turn.contexts}}


async def _unfollowed(connection: Connection, scope: Scope) -> list[TurnFinalized]:
    """Read the turns the session store has not seen yet: a forget may come right behind the turn."""
    rows = await connection.fetch(
        """select e.envelope, s.position from log.event e left join log.sealed s using (seq)
           where e.tenant_id = $1 and e.stream = $2 and (s.position is null or s.position > $3)""",
        scope.tenant_id,
        turns_stream(scope.subject_id),
        await position_of(connection, "sessions"),
    )
    events = (stored(row["envelope"], row["position"]).event for row in rows)
    return [event for event in events if isinstance(event, TurnFinalized)]
