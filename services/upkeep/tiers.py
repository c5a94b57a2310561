"""What use says: noting it, taking the vector of what is cold out of the index, bringing it back (R53)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Final, Literal

from events.model import Event, MemoryId, Scope, Tiered, Used
from events.postgres import Database
from projections.changes import CURRENT, Fact
from services.upkeep.job import Action, Plan, commit, scopes_of
from services.upkeep.person import read_person
from services.upkeep.rules import UpkeepRules

_BATCH: Final = 1000
# what the person looks at is no use of it; only what an agent was given is
_READERS = """
select tenant_id, subject_id from ops.read where path in ('context', 'search') and at > $1
and cardinality(memories) > 0 group by tenant_id, subject_id order by min(at), tenant_id, subject_id
"""
_READ = """
select distinct unnest(memories) as memory_id from ops.read
where tenant_id = $1 and subject_id = $2 and path in ('context', 'search') and at > $3
"""
_MOVING = """
select tenant_id, subject_id from facts.memory
where status = any($1::text[]) and cold = (greatest(verified_at, used_at) >= $2)
  and (cold or not (asked or kind = any($3::text[])))
group by tenant_id, subject_id order by min(verified_at), tenant_id, subject_id
"""


class Use:
    """Notes which memories agents were given: reads are kept for days, what they say of use for as long as the log.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        rules: how often a use is noted.
    """

    name: ClassVar[str] = "use"

    def __init__(self, eraser: Database, rules: UpkeepRules) -> None:
        self._eraser = eraser
        self._rules = rules

    async def due(self, now: datetime) -> list[Scope]:
        """Name whose memories were read, the longest ago first."""
        async with self._eraser.connection() as connection:
            return scopes_of(await connection.fetch(_READERS, self._rules.noted_before(now)))

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say which uses would be noted: of memories whose last noted use is some days old."""
        since = self._rules.noted_before(now)
        async with self._eraser.connection() as connection:
            rows = await connection.fetch(_READ, scope.tenant_id, scope.subject_id, since)
        read = {MemoryId(row["memory_id"]) for row in rows}
        person = await read_person(self._eraser, scope)
        noted = [
            fact.memory_id
            for fact in person.current
            if fact.memory_id in read and (fact.used_at is None or fact.used_at <= since)
        ]
        if not noted:
            return None
        used = tuple(sorted(noted)[:_BATCH])
        action = Action(what="use", reason="read", memories=used)
        return Plan(self.name, scope, person.version, (action,), (Used(memories=used),))

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """Note them."""
        return await commit(self._eraser, plan, now)


class Tiers:
    """Takes the vectors of cold memories out of the index and brings those back that are used or said again.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        rules: what is cold.
    """

    name: ClassVar[str] = "tiers"

    def __init__(self, eraser: Database, rules: UpkeepRules) -> None:
        self._eraser = eraser
        self._rules = rules

    async def due(self, now: datetime) -> list[Scope]:
        """Name who has something that has become cold, or warm again."""
        before = now - timedelta(days=self._rules.tiers.warm_days)
        async with self._eraser.connection() as connection:
            return scopes_of(await connection.fetch(_MOVING, list(CURRENT), before, list(self._rules.tiers.always)))

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say what would move."""
        person = await read_person(self._eraser, scope)
        tiers = [(fact, self._rules.tier_of(fact, now)) for fact in person.current]
        cooling = [fact for fact, tier in tiers if tier == "cold" and not fact.cold][:_BATCH]
        warming = [fact for fact, tier in tiers if tier != "cold" and fact.cold][:_BATCH]
        moves: list[tuple[Action, Event]] = []
        if cooling:
            moves.append((_action("cool", "unused", cooling), _event("cold", "unused", cooling)))
        if warming:
            moves.append((_action("warm", "used", warming), _event("hot", "used", warming)))
        if not moves:
            return None
        actions, events = zip(*moves, strict=True)
        return Plan(self.name, scope, person.version, actions, events)

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """Move them."""
        return await commit(self._eraser, plan, now)


def _action(what: Literal["cool", "warm"], reason: str, facts: Sequence[Fact]) -> Action:
    return Action(what=what, reason=reason, memories=tuple(fact.memory_id for fact in facts))


def _event(tier: Literal["hot", "cold"], reason: Literal["used", "unused"], facts: Sequence[Fact]) -> Tiered:
    return Tiered(
        tier=tier,
        reason=reason,
        memories=tuple(fact.memory_id for fact in facts),
        sources=tuple(fact.event_id for fact in facts),
    )
