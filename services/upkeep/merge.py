"""Letting one memory stand for others that say the same, and separating them again (R53)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from events.envelope import memory_stream
from events.errors import BadInputError, ConcurrencyError
from events.model import EventId, IndexBody, MemoryBody, MemoryId, Merged, Scope, Separated
from events.postgres import Database
from events.vault import Vault
from projections.changes import Fact
from projections.index import vector_of
from projections.memories import open_index, open_memories
from services.governance.merging import gist, says_the_same
from services.upkeep.job import Action, Plan, commit, scopes_of
from services.upkeep.person import Person, read_person
from services.upkeep.rules import UpkeepRules

_DUE = """
select tenant_id, subject_id from facts.memory where status = 'current'
group by tenant_id, subject_id, kind having count(*) > 1 and max(verified_at) >= $1
order by min(verified_at), tenant_id, subject_id
"""


@dataclass(frozen=True, slots=True)
class Opened:
    """A current memory with its content and what the indexes got of it."""

    fact: Fact
    body: MemoryBody
    index: IndexBody


class Merge:
    """Lets one memory stand for others of the person that say the same in nearly the same words.

    What was said lately is compared with everything of its kind; the gate of what is written twice sees the newest
    only. What the person asked to remember stands for itself, and what was separated once stays so.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        vault: with the right to open keys.
        rules: how close, and how new.
    """

    name: ClassVar[str] = "merge"

    def __init__(self, eraser: Database, vault: Vault, rules: UpkeepRules) -> None:
        self._eraser = eraser
        self._vault = vault
        self._rules = rules

    async def due(self, now: datetime) -> list[Scope]:
        """Name who said something lately."""
        async with self._eraser.connection() as connection:
            return scopes_of(await connection.fetch(_DUE, self._since(now)))

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say what would be merged into what."""
        person = await read_person(self._eraser, scope)
        facts = [fact for fact in person.current if fact.status == "current"]
        kinds = {fact.kind for fact in facts if fact.verified_at >= self._since(now)}
        opened = await self._open(scope, [fact for fact in facts if fact.kind in kinds])
        alone = _separated(person)
        by_gist: dict[object, list[Opened]] = defaultdict(list)
        for each in opened:
            by_gist[each.fact.audience, gist(each.body)].append(each)
        events = [event for group in by_gist.values() if len(group) > 1 for event in self._merged(group, alone, now)]
        actions = tuple(Action(what="merge", reason="says_the_same", memories=event.memories) for event in events)
        return Plan(self.name, scope, person.version, actions, tuple(events)) if events else None

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """Merge them."""
        return await commit(self._eraser, plan, now)

    def _merged(self, group: Sequence[Opened], alone: frozenset[MemoryId], now: datetime) -> list[Merged]:
        kept, *others = sorted(group, key=_standing, reverse=True)
        close = {
            each.fact.memory_id: closeness
            for each in others
            if not each.fact.asked
            and not {each.fact.memory_id, kept.fact.memory_id} & alone
            and max(each.fact.verified_at, kept.fact.verified_at) >= self._since(now)
            and says_the_same(kept.body, each.body)
            and (closeness := _closeness(kept.index, each.index)) >= self._rules.merge.closeness
        }
        if not close:
            return []
        return [
            Merged(
                memory_id=kept.fact.memory_id,
                version=kept.fact.version,
                memories=tuple(sorted(close)),
                closeness=round(min(close.values()) * 1000),
            )
        ]

    async def _open(self, scope: Scope, facts: Sequence[Fact]) -> list[Opened]:
        keyring = await self._vault.keyring(scope)
        async with self._eraser.connection() as connection:
            bodies = await open_memories(connection, keyring, facts)
            index = await open_index(connection, keyring, facts)
        return [
            Opened(fact, body, index[fact.event_id])
            for fact in facts
            if isinstance(body := bodies.get(fact.event_id), MemoryBody) and fact.event_id in index
        ]

    def _since(self, now: datetime) -> datetime:
        return now - timedelta(days=self._rules.merge.recent_days)


async def separate(eraser: Database, memory: MemoryId) -> Scope:
    """Let a merged memory stand for itself again; return whose it is.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        memory: what was merged into another one.

    Raises:
        BadInputError: it is not merged, or what stands for it says something newer by now.
        ConcurrencyError: somebody else wrote meanwhile; try again.
    """
    query = "select tenant_id, subject_id from facts.memory where memory_id = $1 limit 1"
    async with eraser.connection() as connection:
        found = scopes_of(await connection.fetch(query, memory))
    if not found:
        raise BadInputError(f"there is no memory {memory}; `cenotaph upkeep --json` names what it merges")
    (scope,) = found
    person = await read_person(eraser, scope)
    into = next(
        (
            event
            for stored in reversed(person.stream)
            if isinstance(event := stored.event, Merged) and memory in event.memories
        ),
        None,
    )
    source = _merged_version(person, memory)
    if into is None or source is None:
        raise BadInputError(f"memory {memory} is not merged into another one")
    kept = person.state.get((into.memory_id, into.version))
    if kept is None or kept.status != "current":
        raise BadInputError(f"memory {into.memory_id}, which stands for {memory}, says something newer by now")
    action = Action(what="merge", reason="undone", memories=(memory,))
    event = Separated(memories=(memory,), sources=(source,))
    plan = Plan("separate", scope, person.version, (action,), (event,))
    if not await commit(eraser, plan, datetime.now(UTC)):
        raise ConcurrencyError(memory_stream(scope.subject_id), person.version)
    return scope


def _merged_version(person: Person, memory: MemoryId) -> EventId | None:
    facts = (fact for fact in person.state.values() if fact.memory_id == memory and fact.status == "merged")
    return next((fact.event_id for fact in facts), None)


def _separated(person: Person) -> frozenset[MemoryId]:
    events = (stored.event for stored in person.stream)
    return frozenset(memory for event in events if isinstance(event, Separated) for memory in event.memories)


def _standing(each: Opened) -> tuple[bool, bool, int, int, datetime, MemoryId]:
    """Order what could stand for the others: what was asked for, what has a key, is surest, repeated, newest."""
    fact = each.fact
    return fact.asked, each.body.key is not None, fact.confidence, fact.reinforced, fact.verified_at, fact.memory_id


def _closeness(one: IndexBody, other: IndexBody) -> float:
    """Return the cosine of two vectors; 0 where two models made them."""
    return float(vector_of(one) @ vector_of(other)) if one.model == other.model else 0.0
