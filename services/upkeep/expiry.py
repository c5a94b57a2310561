"""What was kept as long as it may be: candidates nobody decided about, messages no living memory cites (R10, R13)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from events.envelope import StoredEvent
from events.log import read_events
from events.model import EventId, Expired, KeyId, MemoryId, MessageId, Scope
from events.postgres import Connection, Database
from events.vault import Vault
from projections.changes import CITING
from services.upkeep.job import Action, Plan, commit, scopes_of

_BATCH = 1000
# a turn that was not considered yet is kept whatever its age: its words may still become a memory
_DUE = """
select tenant_id, subject_id from (
  select tenant_id, subject_id, held_until as since from facts.memory where status = 'held' and held_until < $1
  union all
  select m.tenant_id, m.subject_id, m.recorded_at
  from sessions.message m join sessions.turn t using (tenant_id, turn_id)
  where not m.forgotten and m.recorded_at < $2 and t.considered and not exists (
    select from facts.memory f
    where f.tenant_id = m.tenant_id and f.status = any($3::text[]) and f.cites @> array[m.message_id])
) due group by tenant_id, subject_id order by min(since), tenant_id, subject_id
"""
_HELD = """
select memory_id, event_id from facts.memory
where status = 'held' and held_until < $1 and tenant_id = $2 and subject_id = $3 order by memory_id limit $4
"""
_MESSAGES = """
select m.message_id, m.key_id from sessions.message m join sessions.turn t using (tenant_id, turn_id)
where not m.forgotten and m.recorded_at < $1 and t.considered and not exists (
  select from facts.memory f
  where f.tenant_id = m.tenant_id and f.status = any($5::text[]) and f.cites @> array[m.message_id])
  and m.tenant_id = $2 and m.subject_id = $3 order by m.message_id limit $4
"""
_APPLIED = "select applied from facts.subject where tenant_id = $1 and subject_id = $2"


class Expiry:
    """Appends `expired` for what is due; from that commit on nothing reads it. `Shredder` destroys it then.

    The facts say what is held and what is cited. Where they lag behind a person's stream, or somebody writes to it
    meanwhile, its version is not the expected one: nothing is appended, and a later round looks again.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        message_days: how long a message is kept that no living memory cites.
    """

    name: ClassVar[str] = "expire"

    def __init__(self, eraser: Database, message_days: int) -> None:
        self._eraser = eraser
        self._kept = timedelta(days=message_days)

    async def due(self, now: datetime) -> list[Scope]:
        """Name whose time is over for something, the longest ago first."""
        async with self._eraser.connection() as connection:
            return scopes_of(await connection.fetch(_DUE, now, now - self._kept, list(CITING)))

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say what expires."""
        own = (scope.tenant_id, scope.subject_id)
        async with self._eraser.transaction() as connection:
            await connection.execute("set transaction isolation level repeatable read")
            held = await connection.fetch(_HELD, now, *own, _BATCH)
            said = await connection.fetch(_MESSAGES, now - self._kept, *own, _BATCH, list(CITING))
            events = await read_events(connection, [EventId(row["event_id"]) for row in held])
            version: int = await connection.fetchval(_APPLIED, *own) or 0
        memories = tuple(sorted(MemoryId(row["memory_id"]) for row in held))
        messages = tuple(sorted(MessageId(row["message_id"]) for row in said))
        actions = [Action(what="expire", reason="undecided", memories=memories)] if memories else []
        actions += [Action(what="expire", reason="uncited", messages=messages)] if messages else []
        if not actions:
            return None
        keys = [part.key_id for event in events.values() for part in event.parts]
        keys += [KeyId(row["key_id"]) for row in said]
        event = Expired(memories=memories, messages=messages, keys=tuple(dict.fromkeys(keys)))
        return Plan(self.name, scope, version, tuple(actions), (event,))

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """Append it."""
        return await commit(self._eraser, plan, now)


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
