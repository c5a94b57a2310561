"""The facts table says what a naive fold of the log says, in any batch size, after crashes and after shredding."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from events.envelope import StoredEvent, memory_stream
from events.log import EventLog, read_stream
from events.model import Audience, Scope
from events.postgres import Connection, Database
from events.sealer import Sealer
from events.vault import Vault
from projections.changes import fold
from projections.facts import Facts
from projections.follower import Follower
from projections.index import IndexReader
from tests.conftest import Stores
from tests.dice import dice
from tests.replay.histories import Person, born
from tests.replay.oracle import Truth, truth


class Crash(Exception):  # noqa: N818 - the test's own way out, like a kill in the middle of a batch
    """The process dies here."""


class Faltering:
    """A connection on which every so many writes the process dies, before or after the statement ran."""

    def __init__(self, connection: Connection, fuse: list[int]) -> None:
        self._connection = connection
        self._fuse = fuse

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str:  # noqa: ASYNC109
        """Die before the statement, run it, or die behind it."""
        self._fuse[0] -= 1
        if self._fuse[0] == 0:
            raise Crash
        done = await self._connection.execute(query, *args, timeout=timeout)
        self._fuse[0] -= 1
        if self._fuse[0] == 0:
            raise Crash
        return done

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the connection has
        return getattr(self._connection, name)


class FalteringFacts(Facts):
    """The projection, whose process may die in the middle of a batch."""

    def __init__(self, index: IndexReader) -> None:
        super().__init__(index)
        self.fuse = [0]

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Apply through a connection that may die."""
        await super().apply(Faltering(connection, self.fuse), place, events)


async def table(stores: Stores, scope: Scope) -> tuple[Truth, int | None]:
    """Read one person's rows raw, with the version the table says it has applied."""
    async with stores.owner.connection() as connection:
        rows = await connection.fetch(
            "select memory_id, version, status, reinforced, source_forgotten from facts.memory where subject_id = $1",
            scope.subject_id,
        )
        applied: int | None = await connection.fetchval(
            "select applied from facts.subject where subject_id = $1", scope.subject_id
        )
    return {
        (UUID(str(row["memory_id"])), row["version"]): (row["status"], row["reinforced"], row["source_forgotten"])
        for row in rows
    }, applied


async def readers(stores: Stores, scope: Scope) -> dict[str, list[str]]:
    """Read whom each version is for, raw, by the event that brought it."""
    async with stores.owner.connection() as connection:
        rows = await connection.fetch(
            f"select event_id, {', '.join(Audience.model_fields)} from facts.memory where subject_id = $1",  # noqa: S608 - names of ours
            scope.subject_id,
        )
    return {str(row["event_id"]): [str(row[name]) for name in Audience.model_fields] for row in rows}


def told(events: Sequence[StoredEvent]) -> dict[str, list[str]]:
    """Say from the bare envelopes whom each version is for."""
    named = {
        str(each.event_id): each.document["audience"]
        for each in events
        if each.type == "accepted" or (each.type == "not_written" and each.document["outcome"] == "held")
    }
    return {event: [str(its.get(name)) for name in Audience.model_fields] for event, its in named.items()}


async def stream_of(stores: Stores, scope: Scope) -> list[StoredEvent]:
    async with stores.projector.connection() as connection:
        return await read_stream(connection, scope, memory_stream(scope.subject_id))


async def seal_all(stores: Stores) -> None:
    while await Sealer(stores.sealer).seal():
        pass


def facts_of(stores: Stores, database: Database) -> FalteringFacts:
    return FalteringFacts(IndexReader(Vault(database, stores.provider)))


@pytest.mark.parametrize("seed", range(6))
async def test_facts_equal_the_naive_fold(stores: Stores, log: EventLog, seed: int) -> None:
    """Random histories of two people, random batches, crashes in the middle: the table is what the oracle says."""
    random = dice(seed)
    model = facts_of(stores, stores.keeper)
    await seal_all(stores)
    await Follower(model, stores.projector).catch_up()
    people = [await born(stores, log, random) for _ in range(2)]
    crashes = 0
    for _ in range(6):
        for person in people:
            await person.live(random.randint(1, 6))
        await seal_all(stores)
        for person in people:
            keys = [key for keys in person.keys.values() for key in keys if random.random() < 0.2]
            await Vault(stores.eraser, stores.provider).destroy(person.scope, keys)
        while True:
            model.fuse[0] = random.choice((0, 1, 2, 3, 4, 6))
            try:
                if not await Follower(model, stores.projector, batch=random.randint(1, 17)).step():
                    break
            except Crash:
                crashes += 1
        for person in people:
            events = await stream_of(stores, person.scope)
            assert await table(stores, person.scope) == (truth(events), events[-1].version if events else None)
            assert await readers(stores, person.scope) == told(events)
    assert crashes > 0


@pytest.mark.parametrize("seed", range(6, 9))
async def test_the_fold_of_decisions_equals_the_oracle_at_any_cut(stores: Stores, log: EventLog, seed: int) -> None:
    """State ⊕ newer events is the same wherever the line between the two lies."""
    random = dice(seed)
    person = await born(stores, log, random)
    await person.live(25)
    events = await stream_of(stores, person.scope)
    for cut in range(0, len(events), 3):
        state = fold(fold({}, events[:cut]), events[cut:])
        assert {place: (fact.status, fact.reinforced, fact.source_forgotten) for place, fact in state.items()} == truth(
            events
        )


async def test_the_oracle_can_disagree(stores: Stores, log: EventLog) -> None:
    """Control: a table that missed one event is not what the oracle says."""
    person = await born(stores, log, dice(99))
    for step in ("accept", "accept", "supersede", "reinforce", "hold"):
        await person.say()
        await getattr(person, step)(next(iter(person.said)))
    await person.expire(next(iter(person.said)))
    await missed(stores, person, "accepted", "superseded", "reinforced", "expired")
    await person.forget(next(iter(person.said)))
    await missed(stores, person, "tombstoned")


async def missed(stores: Stores, person: Person, *types: str) -> None:
    """Assert that each event of these types is missed if it is not there."""
    events = await stream_of(stores, person.scope)
    telling = [event for event in events if event.type in types]
    assert {event.type for event in telling} == set(types)
    for missing in telling:
        assert truth(event for event in events if event is not missing) != truth(events), missing.type
