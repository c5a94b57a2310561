"""n writers, one sealer, one tail reader: n of n seen, streams in order, positions dense (R2, ADR 0001)."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from time import perf_counter
from uuid import UUID, uuid4

import asyncpg
import pytest

from events.envelope import Command, DataKey, NewEvent, Part, StoredEvent
from events.errors import ConcurrencyError, UnavailableError
from events.log import Answer, EventLog, Tail, append, head, read_sealed
from events.model import CommandId, EventId, KeyId, MemoryId, MessageBody, Position, Reinforced, Scope, TurnId
from events.postgres import Connection, Database
from events.sealer import Sealer
from tests.conftest import Stores
from tests.dice import dice

NOW = datetime(2026, 8, 1, 9, tzinfo=UTC)
EVERY_WAY = frozenset({"appended", "conflict", "known", "rollback", "given up"})
BROKEN = frozenset({"cut", "lost", "unknown"})
WORDS = MessageBody(content="下周三去上海 / to Shanghai next Wednesday")


class Rollback(Exception):  # noqa: N818 - not a fault, the test's way out of a transaction
    """Leave the transaction without committing."""


def random_uuid(random: Random) -> UUID:
    return UUID(int=random.getrandbits(128), version=4)


@dataclass
class Load:
    """What the writers did, as they were told it: the ledger the tail is compared with."""

    scope: Scope
    streams: tuple[str, ...]
    target: int
    must: frozenset[str] = frozenset()
    appended: dict[CommandId, tuple[Command, tuple[int, int]]] = field(default_factory=dict)
    believed: Counter[str] = field(default_factory=Counter)
    happened: Counter[str] = field(default_factory=Counter)

    @property
    def events(self) -> int:
        """How many events were acknowledged."""
        return sum(len(command.events) for command, _ in self.appended.values())

    @property
    def done(self) -> bool:
        """Whether enough was written, in every way that this run is there to show."""
        return self.events >= self.target and all(self.happened[what] for what in self.must)

    def command(self, random: Random) -> Command:
        """Make a command on a shared stream, expecting the version this writer believes in, or any."""
        stream = random.choice(self.streams)
        expected = None if random.random() < 0.4 else self.believed[stream]
        events = tuple(self._event(random) for _ in range(random.randint(1, 50)))
        return Command(CommandId(random_uuid(random)), self.scope, stream, expected, "worker:test", events)

    def settle(self, command: Command, answer: Answer) -> None:
        """Note a committed answer; a command has one answer for ever."""
        self.happened[answer.outcome] += 1
        if answer.versions is None:
            return
        first, last = answer.versions
        assert last - first + 1 == len(command.events)
        known = self.appended.setdefault(command.command_id, (command, answer.versions))
        assert known[1] == answer.versions
        self.believed[command.stream] = max(self.believed[command.stream], last)

    def _event(self, random: Random) -> NewEvent:
        ids = [random_uuid(random) for _ in range(3)]
        event = Reinforced(candidate_id=MemoryId(ids[0]), memory_id=MemoryId(ids[1]), version=1, turn_id=TurnId(ids[2]))
        if random.random() > 0.05:
            return NewEvent(event, NOW)
        key = DataKey(KeyId(random_uuid(random)), random.randbytes(32))
        return NewEvent(event, NOW, (Part("memory", WORDS, key),))


async def write(load: Load, database: Database, log: EventLog, random: Random) -> None:
    """Append until all is done, in every way a writer can."""
    while not load.done:
        commands = [load.command(random) for _ in range(random.choice((1, 1, 1, 2, 3)))]
        way = random.random()
        if way < 0.45:
            await in_transaction(load, database, commands, random)
        elif way < 0.50:
            load.happened["rollback"] += 1
            with pytest.raises(Rollback):
                await in_transaction(load, database, commands, random, rollback=True)
            await in_transaction(load, database, commands, random)
        elif way < 0.55 and load.appended:
            again, _ = random.choice(list(load.appended.values()))
            assert (await in_transaction(load, database, [again], random))[0].outcome == "known"
        elif way < 0.60:
            await asyncio.gather(*(through_batcher(load, log, commands[0]) for _ in range(3)))
        elif way < 0.65:
            await given_up(load, log, commands[0], random)
        elif way < 0.70:
            bad = spoiled(load.scope, random)
            answers = asyncio.gather(*(through_batcher(load, log, command) for command in (bad, *commands)))
            with pytest.raises(asyncpg.UniqueViolationError):
                await answers
            await asyncio.gather(*(through_batcher(load, log, command) for command in commands))
        else:
            await asyncio.gather(*(through_batcher(load, log, command) for command in commands))


async def in_transaction(
    load: Load, database: Database, commands: list[Command], random: Random, *, rollback: bool = False
) -> list[Answer]:
    """Append in an open transaction that dawdles before it ends."""
    async with database.transaction() as connection:
        answers = await append(connection, commands)
        if random.random() < 0.4:
            await asyncio.sleep(random.random() * 0.06)
        if rollback:
            raise Rollback
    for command, answer in zip(commands, answers, strict=True):
        load.settle(command, answer)
    return answers


async def through_batcher(load: Load, log: EventLog, command: Command) -> None:
    """Append through group commit; losing the race is an outcome, no answer a reason to ask again."""
    while True:
        try:
            load.settle(command, await log.append(command))
        except ConcurrencyError:
            load.happened["conflict"] += 1
        except UnavailableError:
            load.happened["unknown"] += 1
            continue
        return


async def given_up(load: Load, log: EventLog, command: Command, random: Random) -> None:
    """Give an append up at any moment, and ask again what became of it."""
    task = asyncio.create_task(log.append(command))
    await asyncio.wait([task], timeout=random.random() * 0.01)
    load.happened["given up"] += task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await through_batcher(load, log, command)


def spoiled(scope: Scope, random: Random) -> Command:
    """Make a command that the database refuses: two parts of one name."""
    ids = [random_uuid(random) for _ in range(4)]
    part = Part("same", WORDS, DataKey(KeyId(ids[0]), bytes(32)))
    event = Reinforced(candidate_id=MemoryId(ids[1]), memory_id=MemoryId(ids[1]), version=1, turn_id=TurnId(ids[2]))
    return Command(CommandId(ids[3]), scope, "load/bad", None, "worker:test", (NewEvent(event, NOW, (part, part)),))


async def seal_until(stop: asyncio.Event, sealer: Sealer) -> None:
    """Seal while writers write, and what is left when they have stopped."""
    while await sealer.seal() or not stop.is_set():  # noqa: ASYNC110 - a turn for the writers, not a poll
        await asyncio.sleep(0)


async def tail(stores: Stores, start: Position, sealed: asyncio.Event, random: Random) -> list[StoredEvent]:
    """Follow the sealed tail like a read model: woken by NOTIFY, reading batches of any size."""
    bell, seen, position = Tail(stores.endpoints.database_url, 0.05), list[StoredEvent](), start
    try:
        while True:
            complete = sealed.is_set()
            async with stores.projector.connection() as connection:
                batch = await read_sealed(connection, position, random.randint(1, 1500))
            seen += batch
            if batch:
                assert batch[-1].position is not None
                position = batch[-1].position
            elif complete:
                return seen
            else:
                await bell.wait()
    finally:
        await bell.close()


@asynccontextmanager
async def writers_pool(stores: Stores, size: int) -> AsyncIterator[Database]:
    database = Database(stores.endpoints.database_url, "cenotaph_appender", size)
    yield database
    await database.close()


class Fragile(Database):
    """A pool whose connections are cut while a batch is under way, or whose answer is lost after the commit."""

    def __init__(self, url: str, random: Random) -> None:
        super().__init__(url, "cenotaph_appender", 4)
        self.random = random
        self.busy: set[int] = set()
        self.happened: Counter[str] = Counter()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Borrow a connection that may not live long."""
        async with super().connection() as connection:
            pid: int = await connection.fetchval("select pg_backend_pid()")
            self.busy.add(pid)
            try:
                yield connection
            finally:
                self.busy.discard(pid)
            if self.random.random() < 0.1:
                self.happened["lost"] += 1
                raise UnavailableError("the answer was lost")


async def cut(stores: Stores, pool: Fragile) -> None:
    """Cut connections that carry batches, at any moment."""
    async with stores.owner.connection() as connection:
        while True:
            await asyncio.sleep(0.05 + pool.random.random() * 0.1)
            if pool.busy:
                pid = pool.random.choice(sorted(pool.busy))
                pool.happened["cut"] += await connection.fetchval("select pg_terminate_backend($1)", pid)


async def n_of_n(
    stores: Stores, log: EventLog, *, writers: int, target: int, seed: int, fragile: Fragile | None = None
) -> None:
    """Run writers, sealer and tail reader at once, then compare what was seen with what was acknowledged."""
    random = dice(seed)
    scope = Scope.model_validate({"tenant_id": uuid4(), "subject_id": uuid4()})
    streams = tuple(f"load/{uuid4()}" for _ in range(writers + 4))
    load = Load(scope, streams, target, EVERY_WAY | BROKEN if fragile else EVERY_WAY)
    if fragile:
        load.happened = fragile.happened
    written, sealed = asyncio.Event(), asyncio.Event()
    async with stores.projector.connection() as connection:
        start = await head(connection)
    async with asyncio.TaskGroup() as tasks:  # whatever fails here ends all of it
        reading = tasks.create_task(tail(stores, start, sealed, dice(seed + 1)))
        sealing = tasks.create_task(seal_until(written, Sealer(stores.sealer, batch=700)))
        cutting = tasks.create_task(cut(stores, fragile)) if fragile else None
        began = perf_counter()
        async with writers_pool(stores, writers) as pool, asyncio.TaskGroup() as writing:
            for _ in range(writers):
                writing.create_task(write(load, pool, log, dice(random.random())))
        took = perf_counter() - began
        if cutting:
            cutting.cancel()
        written.set()
        await sealing
        sealed.set()
    seen = reading.result()
    assert [event.position for event in seen] == list(range(start + 1, start + 1 + len(seen)))
    own = [event for event in seen if event.scope == load.scope]
    print(  # noqa: T201 - the numbers of the run are its result
        f"\n{len(own)} of {load.events} seen, {writers} writers, {load.events / took:.0f} events/s, "
        f"{dict(load.happened)}, {await late(stores, start)} positions whose event arrived before its predecessor's"
    )
    assert len(own) == load.events >= target
    by_stream: dict[str, list[StoredEvent]] = defaultdict(list)
    for event in own:
        by_stream[event.stream].append(event)
    for stream, events in by_stream.items():
        assert [event.version for event in events] == list(range(1, load.believed[stream] + 1))
    by_command: dict[CommandId, list[tuple[EventId, int]]] = defaultdict(list)
    for event in own:
        by_command[event.command_id].append((event.event_id, event.version))
    assert by_command.keys() == load.appended.keys()
    for command_id, (_, (first, last)) in load.appended.items():
        assert [version for _, version in by_command[command_id]] == list(range(first, last + 1))
    assert len({event.event_id for event in own}) == len(own)
    assert fragile or await late(stores, start) > 0, "no commit was late: this run proves nothing"


async def late(stores: Stores, start: Position) -> int:
    """Count positions that hold an event which took its number earlier and committed later than the one before."""
    async with stores.owner.connection() as connection:
        found: int = await connection.fetchval(
            "select count(*) from log.sealed a join log.sealed b on b.position = a.position + 1"
            " where a.position > $1 and b.seq < a.seq",
            start,
        )
    return found


@pytest.mark.parametrize("seed", [1, 2])
async def test_every_event_is_seen_once_and_in_order(stores: Stores, log: EventLog, seed: int) -> None:
    """Of 4,000 events by 8 writers the tail reader sees each once, streams in order, positions dense."""
    await n_of_n(stores, log, writers=8, target=4_000, seed=seed)


async def test_every_event_is_seen_once_while_connections_are_cut(stores: Stores) -> None:
    """A batch whose connection dies is unknown to its callers; asked again, each command is stored once."""
    pool = Fragile(stores.endpoints.database_url, dice(10))
    log = EventLog(pool)
    try:
        await n_of_n(stores, log, writers=6, target=2_000, seed=9, fragile=pool)
    finally:
        await log.close()
        await pool.close()


@pytest.mark.long
async def test_a_hundred_thousand_events(stores: Stores, log: EventLog) -> None:
    """The same law over 100,000 events by 12 writers."""
    await n_of_n(stores, log, writers=12, target=100_000, seed=3)


async def test_a_command_twice_in_one_batch_is_one_command(log: EventLog, scope: Scope) -> None:
    """Twins in one transaction: the second is known, whatever version they expect."""
    for expected in (None, 0):
        event = Load(scope, ("s",), 1)._event(dice(4))
        stream = f"twins/{uuid4()}"
        twin = Command(CommandId(uuid4()), scope, stream, expected, "worker:test", (event,) * 3)
        answers = await log.append_many([twin, twin])
        assert [(answer.outcome, answer.versions) for answer in answers] == [("appended", (1, 3)), ("known", (1, 3))]
        other = Command(CommandId(uuid4()), scope, stream, 3, "worker:test", (event,))
        assert (await log.append(other)).versions == (4, 4)


async def test_one_spoiled_command_does_not_spoil_the_batch(log: EventLog, scope: Scope) -> None:
    """Commands that were coalesced with one the database refuses are appended all the same."""
    random = dice(5)
    load = Load(scope, tuple(f"load/{uuid4()}" for _ in range(4)), 1)
    commands = [*(load.command(random) for _ in range(4)), spoiled(scope, random)]
    answers = await asyncio.gather(*(log.append(command) for command in commands), return_exceptions=True)
    assert isinstance(answers.pop(), asyncpg.UniqueViolationError)
    assert all(isinstance(answer, Answer) and answer.outcome == "appended" for answer in answers)
