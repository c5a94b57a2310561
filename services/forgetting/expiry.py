"""What was kept as long as it may be: candidates nobody decided about, messages no living memory cites (R10, R13)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from uuid import uuid5

import structlog

from events.envelope import Command, NewEvent, StoredEvent, memory_stream
from events.log import append, read_events
from events.model import CommandId, EventId, Expired, KeyId, MemoryId, MessageId, Scope, SubjectId, TenantId
from events.postgres import Connection, Database
from events.vault import Vault
from projections.changes import LIVING

_BATCH = 500
_ACTOR = "worker:upkeep"
_HELD = """
select tenant_id, subject_id, memory_id, event_id from facts.memory
where status = 'held' and held_until < $1 order by held_until limit $2
"""
# a turn that was not considered yet is kept whatever its age: its words may still become a memory
_MESSAGES = """
select m.tenant_id, m.subject_id, m.message_id, m.key_id
from sessions.message m join sessions.turn t using (tenant_id, turn_id)
where not m.forgotten and m.recorded_at < $1 and t.considered and not exists (
  select from facts.memory f
  where f.tenant_id = m.tenant_id and f.status = any($3::text[]) and f.cites @> array[m.message_id])
order by m.recorded_at limit $2
"""
_APPLIED = "select applied from facts.subject where tenant_id = $1 and subject_id = $2"
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Due:
    """What of one person is due."""

    memories: list[MemoryId] = field(default_factory=list)
    messages: list[MessageId] = field(default_factory=list)
    keys: list[KeyId] = field(default_factory=list)


class Expiry:
    """Appends `expired` for what is due; from that commit on nothing reads it. `Shredder` destroys it then.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        message_days: how long a message is kept that no living memory cites.
    """

    def __init__(self, eraser: Database, message_days: int) -> None:
        self._eraser = eraser
        self._message_days = message_days

    async def step(self, now: datetime | None = None) -> int:
        """Expire one batch, person by person; return how many persons that touched.

        The facts say what is held and what is cited. Where they lag behind a person's stream, or somebody writes to it
        meanwhile, its version is not the expected one: nothing is appended, and a later step looks again.
        """
        now = now or datetime.now(UTC)
        async with self._eraser.transaction() as connection:
            await connection.execute("set transaction isolation level repeatable read")
            due = await _due(connection, now, now - timedelta(days=self._message_days))
            applied = {
                scope: await connection.fetchval(_APPLIED, scope.tenant_id, scope.subject_id) or 0 for scope in due
            }
        commands = [_command(scope, each, applied[scope], now) for scope, each in due.items()]
        if not commands:
            return 0
        async with self._eraser.transaction() as connection:
            answers = await append(connection, commands)
        done = sum(answer.outcome == "appended" for answer in answers)
        log.info("expired", persons=done, waiting=len(commands) - done)
        return done


class Shredder:
    """Destroys the keys and bodies that `expired` names, following the log as a read model does.

    Args:
        vault: under `vault_eraser`.
    """

    name: ClassVar[str] = "shred"
    version: ClassVar[int] = 1

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def create(self, connection: Connection, place: str) -> None:
        """Nothing is kept."""

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Destroy what a batch names; a batch that is repeated finds it gone."""
        del place
        for stored in events:
            if isinstance(event := stored.event, Expired):
                await self._vault.destroy(stored.scope, event.keys)
                await connection.fetchval("select log.remove_bodies_v1($1)", stored.event_id)

    async def swap(self, connection: Connection, place: str, built: str) -> str:
        """Nothing is kept, so nothing is swapped."""
        del connection, built
        return place


async def _due(connection: Connection, now: datetime, said_before: datetime) -> dict[Scope, Due]:
    due: dict[Scope, Due] = defaultdict(Due)
    held = await connection.fetch(_HELD, now, _BATCH)
    events = await read_events(connection, [EventId(row["event_id"]) for row in held])
    for row in held:
        each = due[_scope(row["tenant_id"], row["subject_id"])]
        each.memories.append(MemoryId(row["memory_id"]))
        each.keys += [part.key_id for part in events[EventId(row["event_id"])].parts]
    for row in await connection.fetch(_MESSAGES, said_before, _BATCH, list(LIVING)):
        each = due[_scope(row["tenant_id"], row["subject_id"])]
        each.messages.append(MessageId(row["message_id"]))
        each.keys.append(KeyId(row["key_id"]))
    return due


def _scope(tenant: TenantId, subject: SubjectId) -> Scope:
    return Scope(tenant_id=tenant, subject_id=subject)


def _command(scope: Scope, due: Due, applied: int, now: datetime) -> Command:
    event = Expired(
        memories=tuple(sorted(due.memories)),
        messages=tuple(sorted(due.messages)),
        keys=tuple(dict.fromkeys(due.keys)),
    )
    # the same when a step is repeated before the read models have followed
    command_id = CommandId(uuid5((*event.memories, *event.messages)[0], "expired"))
    return Command(command_id, scope, memory_stream(scope.subject_id), applied, _ACTOR, (NewEvent(event, now),))
