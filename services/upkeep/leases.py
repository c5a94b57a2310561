"""Noting whose lease has run out: a memory that may no longer be used as it is (R34)."""

from collections import defaultdict
from datetime import datetime, timedelta
from typing import ClassVar

from events.model import Event, LeaseEnded, MemoryBody, MemoryId, Scope
from events.postgres import Database
from events.vault import Vault
from projections.changes import CURRENT, Fact
from projections.memories import open_memories
from services.governance.lease import Freshness, freshness_of, leases
from services.upkeep.job import Action, Plan, commit, scopes_of
from services.upkeep.person import read_person

_BATCH = 500
# which key a memory has is sealed: whoever has one that is older than the shortest lease of its kind is looked at
_DUE = """
select tenant_id, subject_id from facts.memory join unnest($1::text[], $2::integer[]) as l(kind, days) using (kind)
where status = any($3::text[]) and not suspended and (lease_ended_at is null or lease_ended_at < verified_at)
  and verified_at + make_interval(days => days) <= $4
group by tenant_id, subject_id order by min(verified_at + make_interval(days => days)), tenant_id, subject_id
"""


class Leases:
    """Appends `lease_ended` for what nobody said or confirmed for as long as its lease is, once each time.

    Recall says so of itself from that moment on and lets no write rest on it. That it is on record lets the person be
    asked: what needs an authoritative recheck waits in the inbox until it is confirmed, said again or forgotten.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        vault: opens memories, to know their keys, their ends and their risk.
    """

    name: ClassVar[str] = "leases"

    def __init__(self, eraser: Database, vault: Vault) -> None:
        self._eraser = eraser
        self._vault = vault

    async def due(self, now: datetime) -> list[Scope]:
        """Name who has something that was not said or confirmed for long, the longest overdue first."""
        shortest = leases().shortest
        async with self._eraser.connection() as connection:
            rows = await connection.fetch(_DUE, list(shortest), list(shortest.values()), list(CURRENT), now)
        return scopes_of(rows)

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say whose lease is over, and how it may be used since."""
        person = await read_person(self._eraser, scope)
        facts = [fact for fact in person.current if _may_be_over(fact, now)]
        async with self._eraser.connection() as connection:
            bodies = await open_memories(connection, await self._vault.keyring(scope), facts)
        over: dict[Freshness, list[MemoryId]] = defaultdict(list)
        for fact in facts:
            if isinstance(body := bodies.get(fact.event_id), MemoryBody):
                over[freshness_of(fact, body, now)].append(fact.memory_id)
        actions, events = list[Action](), list[Event]()
        for state in (Freshness.STALE, Freshness.RECHECK):
            if memories := tuple(sorted(over[state])[:_BATCH]):
                actions.append(Action(what="note", reason=f"lease_over:{state}", memories=memories))
                events.append(LeaseEnded(memories=memories, freshness=state.value, reason="lease_over"))
        return Plan(self.name, scope, person.version, tuple(actions), tuple(events)) if events else None

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """Note it."""
        return await commit(self._eraser, plan, now)


def _may_be_over(fact: Fact, now: datetime) -> bool:
    days = leases().shortest.get(fact.kind)
    return days is not None and not fact.lease_noted and fact.verified_at + timedelta(days=days) <= now
