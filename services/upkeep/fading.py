"""Ending what is worth least: where a kind is full, and what has faded to nothing (R53). Never what was asked for."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import ClassVar, Literal

from events.model import Expired, Kind, MemoryId, Scope
from events.postgres import Database
from projections.changes import CURRENT, Fact
from services.upkeep.job import Action, Plan, commit, scopes_of
from services.upkeep.person import Person, read_person
from services.upkeep.rules import UpkeepRules

_BATCH = 500
_FULL = """
select tenant_id, subject_id from facts.memory join unnest($1::text[], $2::bigint[]) as l(kind, most) using (kind)
where status = any($3::text[]) group by tenant_id, subject_id, kind, most having count(*) > most
order by count(*)::float / most desc, tenant_id, subject_id
"""
_FADED = """
select tenant_id, subject_id from facts.memory
where status = any($2::text[]) and kind = any($1::text[]) and not asked and greatest(verified_at, used_at) < $3
group by tenant_id, subject_id order by min(greatest(verified_at, used_at)), tenant_id, subject_id
"""


class Capacity:
    """Makes room in a kind that is nearly full, so that what is said next is not turned away.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        capacity: how many memories of a kind one person may have.
        rules: from which share of that on, down to which, and what is worth least.
    """

    name: ClassVar[str] = "capacity"

    def __init__(self, eraser: Database, capacity: Mapping[Kind, int], rules: UpkeepRules) -> None:
        self._eraser = eraser
        self._capacity = capacity
        self._rules = rules

    async def due(self, now: datetime) -> list[Scope]:
        """Name who has a kind that is full, the fullest first."""
        del now
        most = [int(room * self._rules.capacity.full) for room in self._capacity.values()]
        async with self._eraser.connection() as connection:
            return scopes_of(await connection.fetch(_FULL, list(self._capacity), most, list(CURRENT)))

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say what would go."""
        person = await read_person(self._eraser, scope)
        by_kind: dict[Kind, list[Fact]] = defaultdict(list)
        for fact in person.current:
            by_kind[fact.kind].append(fact)
        going = []
        for kind, facts in by_kind.items():
            room = self._capacity[kind]
            if len(facts) > int(room * self._rules.capacity.full):
                spare = sorted(
                    (fact for fact in facts if not fact.asked),
                    key=lambda fact: (self._rules.worth_of(fact, now), fact.verified_at, fact.memory_id),
                )
                going += spare[: len(facts) - int(room * self._rules.capacity.room)]
        return ending(self.name, scope, person, going, "capacity")

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """End them."""
        return await commit(self._eraser, plan, now)


class Decay:
    """Ends what nobody said again or used until it was worth nothing: of kinds that fade, such as episodes.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        rules: which kinds fade, and how far.
    """

    name: ClassVar[str] = "decay"
    _SOONEST: ClassVar[timedelta] = timedelta(days=30)

    def __init__(self, eraser: Database, rules: UpkeepRules) -> None:
        self._eraser = eraser
        self._rules = rules

    async def due(self, now: datetime) -> list[Scope]:
        """Name who has something of such a kind that was not said or used for long, the longest first."""
        async with self._eraser.connection() as connection:
            rows = await connection.fetch(_FADED, list(self._rules.decay), list(CURRENT), now - self._SOONEST)
        return scopes_of(rows)

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say what has faded."""
        person = await read_person(self._eraser, scope)
        faded = [fact for fact in person.current if self._rules.has_decayed(fact, now)]
        return ending(self.name, scope, person, faded, "decayed")

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """End them."""
        return await commit(self._eraser, plan, now)


def ending(
    job: str, scope: Scope, person: Person, facts: Collection[Fact], reason: Literal["capacity", "decayed"]
) -> Plan | None:
    """Plan to end some memories with every version of them, at most one batch."""
    if not facts:
        return None
    going = list(dict.fromkeys(fact.memory_id for fact in facts))[:_BATCH]
    memories, keys = person.whole(going)
    event = Expired(reason=reason, memories=tuple(sorted(memories)), messages=(), keys=tuple(keys))
    return Plan(job, scope, person.version, tuple(_actions(facts, going, reason)), (event,))


def _actions(facts: Collection[Fact], going: Collection[MemoryId], reason: str) -> list[Action]:
    """Say of each kind what goes."""
    chosen = sorted((fact for fact in facts if fact.memory_id in set(going)), key=lambda fact: fact.kind)
    return [
        Action(what="expire", reason=f"{reason}:{kind}", memories=tuple(fact.memory_id for fact in each))
        for kind, each in groupby(chosen, key=lambda fact: fact.kind)
    ]
