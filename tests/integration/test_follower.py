"""Read models in Postgres: any batch size, repeats, crashes and rebuilds give the same rows (R71)."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

import pytest

from events.envelope import StoredEvent
from events.log import EventLog, head, read_sealed
from events.model import Position
from events.postgres import Connection
from events.sealer import Sealer
from events.vault import Vault
from projections.facts import Facts
from projections.follower import Follower, position_of
from projections.index import IndexReader
from projections.keywords import Keywords
from projections.model import Tables
from projections.sessions import Sessions
from projections.tasks import Tasks
from tests.conftest import Stores
from tests.dice import dice
from tests.replay.histories import Person, born

NAMES = ("facts", "keywords", "sessions", "tasks")


class Crash(Exception):  # noqa: N818 - the test's own way out
    """The process dies here."""


def model_of(stores: Stores, name: str) -> Facts | Keywords | Sessions:
    index = IndexReader(Vault(stores.keeper, stores.provider))
    return {"facts": Facts(index), "keywords": Keywords(index), "sessions": Sessions(), "tasks": Tasks()}[name]  # type: ignore[return-value] # join is Tables


async def seal_all(stores: Stores) -> Position:
    """Seal what there is; return the head."""
    while await Sealer(stores.sealer).seal():
        pass
    async with stores.projector.connection() as connection:
        return await head(connection)


async def lives(stores: Stores, log: EventLog, seed: int, steps: int = 14) -> tuple[list[Person], list[StoredEvent]]:
    """Let three people, two of one tenant, live; return them and their sealed events."""
    before = await seal_all(stores)
    one = await born(stores, log, dice(seed))  # dice of their own: shared ones fall as the three happen to interleave
    people = [one, await born(stores, log, dice(seed + 0.1), one.scope.tenant_id)]
    people.append(await born(stores, log, dice(seed + 0.2)))
    for _ in range(2):
        await asyncio.gather(*(person.live(steps) for person in people))
    await seal_all(stores)
    async with stores.projector.connection() as connection:
        return people, await read_sealed(connection, before, 100_000)


async def rows(stores: Stores, place: str, people: Sequence[Person]) -> dict[str, list[str]]:
    """Read every column of every row of these people, table by table."""
    found: dict[str, list[str]] = {}
    subjects: list[UUID] = [person.scope.subject_id for person in people]
    async with stores.owner.connection() as connection:
        tables = await connection.fetch("select tablename from pg_tables where schemaname = $1", place)
        for table in sorted(row["tablename"] for row in tables):
            read = await connection.fetch(
                f"select to_jsonb(t)::text as row from {place}.{table} t"  # noqa: S608 - names of ours
                " where subject_id = any($1::uuid[]) order by 1",
                subjects,
            )
            found[table] = [row["row"] for row in read]
    assert any(found.values())
    return found


def cut(events: list[StoredEvent], sizes: Iterator[int]) -> Iterator[list[StoredEvent]]:
    while events:
        size = next(sizes)
        yield events[:size]
        events = events[size:]


async def built(
    stores: Stores, name: str, place: str, events: list[StoredEvent], sizes: Iterator[int], *, times: int = 1
) -> None:
    """Make a read model at a place and apply events in such batches, each so many times."""
    model = model_of(stores, name)
    async with stores.owner.connection() as connection:
        await model.create(connection, place)
    for batch in cut(events, sizes):
        for _ in range(times):
            async with stores.owner.transaction() as connection:
                await model.apply(connection, place, batch)


async def drop(stores: Stores, *places: str) -> None:
    async with stores.owner.connection() as connection:
        for place in places:
            await connection.execute(f"drop schema {place} cascade")


def always(size: int) -> Iterator[int]:
    while True:
        yield size


def any_size(seed: int) -> Iterator[int]:
    random = dice(seed)
    while True:
        yield random.randint(1, 23)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [11, 12])
async def test_batch_size_does_not_matter(stores: Stores, log: EventLog, name: str, seed: int) -> None:
    """One event at a time, everything at once, or any mixture: the rows are the same."""
    people, events = await lives(stores, log, seed)
    await built(stores, name, "try_whole", events, always(100_000))
    whole = await rows(stores, "try_whole", people)
    for sizes in (always(1), any_size(seed), any_size(seed + 100)):
        await built(stores, name, "try_cut", events, sizes)
        assert await rows(stores, "try_cut", people) == whole
    await drop(stores, "try_whole", "try_cut")


@pytest.mark.parametrize("name", NAMES)
async def test_a_repeated_batch_changes_nothing(stores: Stores, log: EventLog, name: str) -> None:
    """A batch that is applied twice leaves what it left when applied once."""
    people, events = await lives(stores, log, 21)
    await built(stores, name, "try_once", events, any_size(5))
    await built(stores, name, "try_twice", events, any_size(5), times=2)
    assert await rows(stores, "try_twice", people) == await rows(stores, "try_once", people)
    await drop(stores, "try_once", "try_twice")


@pytest.mark.parametrize("name", NAMES)
async def test_two_followers_of_one_model_apply_everything_once(stores: Stores, log: EventLog, name: str) -> None:
    """Three followers race: together they applied each event once, and the rows are those of one."""
    model = model_of(stores, name)
    await seal_all(stores)
    await Follower(model, stores.projector).catch_up()
    people, events = await lives(stores, log, 31)
    followers = [Follower(model, stores.projector, batch) for batch in (3, 5, 8)]
    applied = await asyncio.gather(*(follower.catch_up() for follower in followers))
    assert sum(applied) == len(events)
    await built(stores, name, "try_alone", events, always(100))
    assert await rows(stores, name, people) == await rows(stores, "try_alone", people)
    await drop(stores, "try_alone")


@pytest.mark.parametrize("name", NAMES)
async def test_a_rebuild_equals_the_live_rows(stores: Stores, log: EventLog, name: str) -> None:
    """Rebuilt beside the old one while followers go on; afterwards all roles read on, and followers carry on."""
    model = model_of(stores, name)
    people, _ = await lives(stores, log, 41)
    live = Follower(model, stores.projector)
    await live.catch_up()
    before, seen = await rows(stores, name, people), list[tuple[int, int]]()
    async with stores.projector.connection() as connection:
        oid = await connection.fetchval("select $1::regnamespace::oid", name)
    rebuilt = await Follower(model, stores.owner, 400).rebuild(lambda done, of: seen.append((done, of)))
    assert await rows(stores, name, people) == before
    async with stores.projector.connection() as connection:
        assert await connection.fetchval("select $1::regnamespace::oid", name) != oid
        assert await connection.fetchval("select to_regnamespace($1)", f"{name}_next") is None
        assert rebuilt == await head(connection) + 1 == await position_of(connection, name) + 1
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1][0] == seen[-1][1] == rebuilt
    more, events = await lives(stores, log, 42, steps=5)
    assert await live.catch_up() == len(events)
    await built(stores, name, "try_more", events, always(50))
    assert await rows(stores, name, more) == await rows(stores, "try_more", more)
    await drop(stores, "try_more")
    table = {"facts": "memory", "keywords": "entry", "sessions": "turn", "tasks": "task"}[name]
    async with stores.reader.transaction(people[0].scope) as connection:
        visible = await connection.fetchval(f"select count(*) from {name}.{table}")  # noqa: S608 - names of ours
    own = [row for row in (await rows(stores, name, people))[table] if str(people[0].scope.subject_id) in row]
    assert visible == len(own)


@pytest.mark.parametrize("name", NAMES)
async def test_a_rebuild_while_the_model_is_followed_and_read(stores: Stores, log: EventLog, name: str) -> None:
    """Events that arrive during a rebuild are in it; no reader ever finds the model missing or half built."""
    model = model_of(stores, name)
    people, _ = await lives(stores, log, 51)
    live = Follower(model, stores.projector, 7)
    await live.catch_up()
    least = {table: len(read) for table, read in (await rows(stores, name, people)).items()}
    done = asyncio.Event()

    async def read() -> int:
        reads = 0
        while not done.is_set():
            now = await rows(stores, name, people)
            assert {table: len(read) for table, read in now.items()} == least
            reads += 1
        return reads

    async def follow() -> list[Person]:
        more, _ = await lives(stores, log, 52, steps=6)
        await live.catch_up()
        return more

    reading, following = asyncio.create_task(read()), asyncio.create_task(follow())
    await Follower(model, stores.owner, 300).rebuild()
    more = await following
    await live.catch_up()
    done.set()
    assert await reading > 0
    rebuilt = await rows(stores, name, [*people, *more])
    await Follower(model, stores.owner).rebuild()
    assert await rows(stores, name, [*people, *more]) == rebuilt


@pytest.mark.parametrize("name", NAMES)
async def test_an_interrupted_rebuild_is_repeated(stores: Stores, log: EventLog, name: str) -> None:
    """Dying half-way leaves the old rows in service; the next rebuild starts anew and ends well."""
    model = model_of(stores, name)
    people, _ = await lives(stores, log, 61)
    await Follower(model, stores.projector).catch_up()
    before = await rows(stores, name, people)
    async with stores.owner.connection() as connection:
        end = await head(connection)
    for batches in (1, 2, 3):
        with dying(model, batches), pytest.raises(Crash):
            await Follower(model, stores.owner, max(1, end // 4)).rebuild()
        assert await rows(stores, name, people) == before
    await Follower(model, stores.owner).rebuild()
    assert await rows(stores, name, people) == before


@contextmanager
def dying(model: Tables, batches: int) -> Iterator[None]:
    """Let the process die behind the effects of the n-th batch, before its commit."""
    left, apply = [batches], type(model).apply  # type: ignore[attr-defined] # every one of ours has it

    async def die(connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        await apply(model, connection, place, events)
        left[0] -= 1
        if not left[0]:
            raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "apply", die)
        yield
