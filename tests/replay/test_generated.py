"""Every read model says what a naive fold of the log says, over histories that hypothesis makes up (DESIGN 7.1)."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.envelope import StoredEvent, memory_stream, summary_stream, task_stream, turns_stream
from events.log import read_stream
from events.model import MemoryId
from projections import follower
from projections.follower import Follower
from projections.model import READ_MODELS
from tests.conftest import Stores
from tests.dice import dice
from tests.replay.histories import Person, born
from tests.replay.marks import Marks, marks, placed
from tests.replay.models import Models, models
from tests.replay.oracle import indexed, spoken, truth
from tests.replay.tasking import Tasked, summed, tasked


class Crash(Exception):  # noqa: N818 - the test's own way out, like a kill -9
    """The process dies here."""


@dataclass
class Fuse:
    """Stands where a follower passes between its effects and its checkpoint, and lets it die there when lit."""

    lit: bool = False
    blown: int = 0

    def hit(self, name: str) -> None:
        """Die if lit."""
        if self.lit and name.startswith("follow."):
            self.lit, self.blown = False, self.blown + 1
            raise Crash


@dataclass
class World:
    """The read models of one log whose followers may die, and who lives there now."""

    models: Models
    fuse: Fuse
    people: list[Person] = field(default_factory=list)

    async def do(self, what: tuple[Any, ...]) -> None:
        """Let one thing happen."""
        match what:
            case ("live", int(who), str(step), int(turn)):
                person = self.people[who]
                await person.say()
                await getattr(person, step)(list(person.said)[turn % len(person.said)])
            case ("shred", int(who)):
                await self.people[who].shred(self.models.stores)
            case ("seal",):
                await self.models.seal()
            case ("follow", str(name), int(batch), bool(dies)):
                self.fuse.lit = dies
                try:
                    await Follower(self.models.all[name], self.models.stores.projector, batch).step()
                except Crash:
                    pass
                finally:
                    self.fuse.lit = False

    async def agree(self) -> None:
        """Catch up and compare every read model with the oracle."""
        await self.models.seal()
        await self.models.follow()
        for person in self.people:
            decided, turns = await self._streams(person)
            assert await self._facts(person) == truth(decided)
            assert await self._marks(person) == marks(decided)
            index = indexed(decided)
            assert await self._keywords(person) == {
                memory: (version, person.index[MemoryId(memory), version].terms)
                for memory, (version, _) in index.items()
            }
            assert await self._sessions(person) == spoken([*turns, *decided])
            assert await self._summaries(person) == await self._summed(person, [*turns, *decided])
            assert await self._tasks(person) == await self._told(person, [*turns, *decided])
            assert await self._vectors(person) == {
                memory: (version, position, sha256(person.vector(MemoryId(memory), version)).digest())
                for memory, (version, position) in placed(decided).items()
            }

    async def _streams(self, person: Person) -> tuple[list[StoredEvent], list[StoredEvent]]:
        async with self.models.stores.projector.connection() as connection:
            subject = person.scope.subject_id
            decided = await read_stream(connection, person.scope, memory_stream(subject))
            return decided, await read_stream(connection, person.scope, turns_stream(subject))

    async def _told(self, person: Person, others: list[StoredEvent]) -> dict[UUID, Tasked]:
        async with self.models.stores.projector.connection() as connection:
            streams = {
                task: await read_stream(connection, person.scope, task_stream(task)) for task in person.desk.every
            }
        return {task: tasked(own, [*others, *own]) for task, own in streams.items()}

    async def _summed(self, person: Person, others: list[StoredEvent]) -> dict[UUID, dict[UUID, tuple[str, bool]]]:
        async with self.models.stores.projector.connection() as connection:
            streams = {
                session: await read_stream(connection, person.scope, summary_stream(session))
                for session in person.desk.sessions
            }
        return {session: summed(own, [*others, *own]) for session, own in streams.items()}

    async def _summaries(self, person: Person) -> dict[UUID, dict[UUID, tuple[str, bool]]]:
        query = "select session_id from sessions.summary where subject_id = $1"
        found: dict[UUID, dict[UUID, tuple[str, bool]]] = {
            UUID(str(session)): {} for (session,) in await self._rows(query, person)
        }
        of_items = "select session_id, item_id, slot, gone from sessions.summary_item where subject_id = $1"
        for session, item, slot, gone in await self._rows(of_items, person):
            found[UUID(str(session))][UUID(str(item))] = (slot, gone)
        return found

    async def _tasks(self, person: Person) -> dict[UUID, Tasked]:
        query = "select task_id, status, version, errors, budget from tasks.task where subject_id = $1"
        of_items = "select task_id, item_id, slot, standing, gone from tasks.item where subject_id = $1"
        items: dict[UUID, dict[UUID, tuple[str, str, bool]]] = defaultdict(dict)
        for task, item, slot, standing, gone in await self._rows(of_items, person):
            items[UUID(str(task))][UUID(str(item))] = (slot, standing, gone)
        return {
            UUID(str(t)): (status, version, errors, dict(budget), items[UUID(str(t))])
            for t, status, version, errors, budget in await self._rows(query, person)
        }

    async def _rows(self, query: str, person: Person) -> list[Any]:
        async with self.models.stores.owner.connection() as connection:
            return list(await connection.fetch(query, person.scope.subject_id))

    async def _facts(self, person: Person) -> dict[tuple[UUID, int], tuple[str, int, bool]]:
        query = (
            "select memory_id, version, status, reinforced, source_forgotten from facts.memory where subject_id = $1"
        )
        return {(UUID(str(m)), v): (status, n, o) for m, v, status, n, o in await self._rows(query, person)}

    async def _marks(self, person: Person) -> Marks:
        query = """select memory_id, version, asked, used_at, cold, lease_ended_at from facts.memory
                   where subject_id = $1 and gate is null"""
        return {(UUID(str(m)), v): (*marks,) for m, v, *marks in await self._rows(query, person)}

    async def _keywords(self, person: Person) -> dict[UUID, tuple[int, tuple[int, ...]]]:
        query = "select memory_id, version, terms from keywords.entry where subject_id = $1"
        return {UUID(str(m)): (v, tuple(terms)) for m, v, terms in await self._rows(query, person)}

    async def _sessions(self, person: Person) -> dict[UUID, tuple[UUID, bool, bool]]:
        query = """select message_id, m.turn_id, considered, forgotten from sessions.message m
                   join sessions.turn t using (tenant_id, turn_id) where m.subject_id = $1"""
        return {UUID(str(m)): (UUID(str(t)), c, f) for m, t, c, f in await self._rows(query, person)}

    async def _vectors(self, person: Person) -> dict[UUID, tuple[int, int, bytes]]:
        def ask(client: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - pymilvus ships no types
            if not client.has_collection(self.models.place):
                return []
            which = f'subject_id == "{person.scope.subject_id.hex}"'
            fields = ["id", "version", "position", "vector"]
            rows: list[dict[str, Any]] = client.query(self.models.place, filter=which, output_fields=fields)
            return rows

        found = await self.models.milvus.read(lambda: self.models.milvus.call(self.models.place, ask))
        return {
            UUID(row["id"]): (
                row["version"],
                row["position"],
                sha256(np.asarray(row["vector"], dtype="<f4").tobytes()).digest(),
            )
            for row in found
        }


WHO = st.integers(0, 1)
LIVE = st.tuples(st.just("live"), WHO, st.sampled_from(sorted(Person.STEPS)), st.integers(0, 30))
FOLLOW = st.tuples(st.just("follow"), st.sampled_from(READ_MODELS), st.integers(1, 40), st.booleans())
SHRED, SEAL = st.tuples(st.just("shred"), WHO), st.just(("seal",))
HISTORY = st.lists(st.one_of(LIVE, LIVE, LIVE, SEAL, FOLLOW, FOLLOW, FOLLOW, SHRED), min_size=20, max_size=60)


@pytest.fixture
async def world(apart: Stores, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """Give a log and read models of their own, whose followers die when the fuse is lit."""
    fuse = Fuse()
    monkeypatch.setattr(follower, "failpoint", fuse)
    async with models(apart) as own:
        yield World(own, fuse)


def over(examples: int) -> Callable[[Any], Any]:
    """Run a test over so many histories of one world."""
    wanted = settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    return lambda test: wanted(given(seed=st.integers(0, 2**32), history=HISTORY)(test))


async def lived(world: World, seed: int, history: list[tuple[Any, ...]]) -> None:
    """Let two people, born anew, live a history; the read models must agree with the oracle in the end."""
    random = dice(seed)
    first = await born(world.models.stores, world.models.log, random)
    world.people = [first, await born(world.models.stores, world.models.log, random, first.scope.tenant_id)]
    for what in history:
        await world.do(what)
    await world.agree()


@over(12)
async def test_every_read_model_equals_the_naive_fold(world: World, seed: int, history: list[tuple[Any, ...]]) -> None:
    """Turns, corrections, forgets, expiries, shreddings, batches, deaths before the checkpoint, in any order."""
    await lived(world, seed, history)


@pytest.mark.long
@pytest.mark.timeout(3600)
@over(400)
async def test_every_read_model_equals_the_naive_fold_for_long(
    world: World, seed: int, history: list[tuple[Any, ...]]
) -> None:
    """The same over many more histories, all in one log."""
    await lived(world, seed, history)


async def test_what_was_generated_does_not_differ_when_it_is_built_anew(world: World) -> None:
    """After a long life with deaths, one rebuild of each model beside the live one finds nothing; nor is it idle."""
    random = dice(31)
    await lived(world, 31, [])
    for _ in range(6):
        for who in (0, 1):
            for _ in range(5):
                step = random.choices(list(Person.STEPS), list(Person.STEPS.values()))[0]
                await world.do(("live", who, step, random.randint(0, 30)))
        await world.do(("seal",))
        for name in READ_MODELS:
            await world.do(("follow", name, random.randint(1, 9), True))
        await world.do(("shred", random.randint(0, 1)))
    await world.agree()
    assert world.fuse.blown == 6 * len(READ_MODELS)
    reports = await world.models.reports()
    assert {name: report.found for name, report in reports.items()} == dict.fromkeys(READ_MODELS, 0)


async def test_the_oracle_can_disagree_with_every_read_model(world: World) -> None:
    """Control: an effect that is missing, or was not undone, in any of them is noticed."""
    await lived(world, 7, [("live", 0, step, n) for n, step in enumerate(("accept", "accept", "accept", "task"))])
    (person, _), stores, own = world.people, world.models.stores, world.models
    turn = next(iter(person.said))
    for statement in (
        "update facts.memory set status = 'superseded' where subject_id = $1",
        "update keywords.entry set version = version + 1 where subject_id = $1",
        "update sessions.message set forgotten = true where subject_id = $1",
        "update tasks.item set standing = 'done' where subject_id = $1",
    ):
        async with stores.owner.connection() as connection:
            await connection.execute(statement, person.scope.subject_id)
        with pytest.raises(AssertionError):
            await world.agree()
        for name in ("facts", "keywords", "sessions", "tasks"):
            await Follower(own.all[name], stores.owner).rebuild()
        await world.agree()
    await person.forget(turn)
    await own.seal()
    await own.follow("facts", "keywords", "sessions", "tasks")
    async with stores.owner.connection() as connection:
        await connection.execute("update read_model.checkpoint set position = position + 1 where name = 'vectors'")
    with pytest.raises(AssertionError):
        await world.agree()
