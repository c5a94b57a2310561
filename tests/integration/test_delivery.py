"""At-least-once delivery on a real server: nothing handed over is skipped, lost, kept or tried for ever."""

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest
import redis.asyncio as redis
from redis.exceptions import RedisError

from events.errors import UnavailableError
from ops.embedded import VALKEY, Embedded
from ops.settings import load_settings
from workers import loop
from workers.delivery import Delivery, Letter, Route

CAP = 3
IDLE_MS = 200
PATIENCE_S = 20.0


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """Run a stream server of our own."""
    with Embedded(load_settings(data=tmp_path_factory.mktemp("valkey")), frozenset({VALKEY})) as embedded:
        yield embedded


@pytest.fixture
async def client(valkey: Embedded) -> AsyncIterator["redis.Redis"]:
    """Give a client of a producer in any language."""
    client = redis.from_url(valkey.endpoints.redis_url)
    yield client
    await client.aclose()


@pytest.fixture
def stream() -> str:
    """Name a fresh stream."""
    return f"stream-{uuid4()}"


@dataclass
class Consumer:
    """A handler that notes what it sees, and dies on whatever is marked as poison."""

    seen: Counter[str] = field(default_factory=Counter)
    done: list[str] = field(default_factory=list)
    parked: list[Letter] = field(default_factory=list)
    unparkable: bool = False
    away: bool = False

    async def work(self, fields: Mapping[str, str], _entry_id: str) -> None:
        """Take an entry."""
        number = fields["n"]
        self.seen[number] += 1
        if self.away:
            raise UnavailableError("the store is away")
        if number.startswith("poison"):
            raise LookupError(number)
        self.done.append(number)

    async def park(self, letter: Letter) -> None:
        """Keep a letter."""
        if self.unparkable and letter.fields.get("n") == "poison-first":
            raise LookupError("no place for it")
        self.parked.append(letter)

    @asynccontextmanager
    async def on(self, url: str, *streams: str) -> AsyncIterator[Delivery]:
        """Consume streams."""
        routes = tuple(Route(stream, self.work, self.park, 2) for stream in streams)
        delivery = Delivery(url, routes, CAP, IDLE_MS)
        await delivery.start()
        try:
            yield delivery
        finally:
            await delivery.stop()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110 - what another process or server does rings no bell
            await asyncio.sleep(0.02)


async def empty(client: "redis.Redis", stream: str) -> None:
    """Wait until the stream holds nothing and nothing is pending."""
    async with asyncio.timeout(PATIENCE_S):
        while await client.xlen(stream) or (await client.xpending(stream, stream))["pending"]:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.02)


async def put(client: "redis.Redis", stream: str, *numbers: str) -> None:
    for number in numbers:
        await client.xadd(stream, {"n": number})


async def test_a_backlog_from_before_the_first_start_is_consumed(
    valkey: Embedded, client: "redis.Redis", stream: str
) -> None:
    """Entries that were there before any group are taken, each once, and none stays in Redis."""
    numbers = [str(number) for number in range(50)]
    await put(client, stream, *numbers)
    consumer = Consumer()
    async with consumer.on(valkey.endpoints.redis_url, stream):
        await until(lambda: len(consumer.done) >= len(numbers))
        await empty(client, stream)
    assert sorted(consumer.done, key=int) == numbers


async def test_a_second_start_takes_what_came_meanwhile(valkey: Embedded, client: "redis.Redis", stream: str) -> None:
    """A consumer that comes back under its own name reads on; it neither spins nor skips."""
    consumer = Consumer()
    for numbers in (("1", "2"), ("3", "4")):
        await put(client, stream, *numbers)
        async with consumer.on(valkey.endpoints.redis_url, stream):
            await empty(client, stream)
    assert sorted(consumer.done) == ["1", "2", "3", "4"]


async def test_entries_of_a_killed_consumer_are_taken_over(
    valkey: Embedded, client: "redis.Redis", stream: str
) -> None:
    """What a consumer held when it was killed is done by another."""
    numbers = [str(number) for number in range(4)]
    await put(client, stream, *numbers)
    stuck = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.stuck",
        valkey.endpoints.redis_url,
        stream,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert stuck.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        taken = {(await stuck.stdout.readline()).decode().strip() for _ in numbers}
    assert taken == set(numbers)
    stuck.kill()
    await stuck.wait()
    consumer = Consumer()
    async with consumer.on(valkey.endpoints.redis_url, stream):
        await until(lambda: set(consumer.done) == set(numbers))
        await empty(client, stream)
    assert consumer.parked == []


async def test_poison_is_parked_with_its_reason_and_the_others_flow(
    valkey: Embedded, client: "redis.Redis", stream: str
) -> None:
    """An entry whose handler always fails ends as a letter after its tries; it blocks nobody and stays nowhere."""
    await put(client, stream, "1", "poison", "2", "3")
    consumer = Consumer()
    async with consumer.on(valkey.endpoints.redis_url, stream):
        await until(lambda: len(consumer.parked) == 1)
        await empty(client, stream)
    (letter,) = consumer.parked
    assert (letter.stream, letter.fields, letter.reason) == (stream, {"n": "poison"}, "LookupError")
    assert letter.deliveries == consumer.seen["poison"] == CAP
    assert sorted(consumer.done) == ["1", "2", "3"]


async def test_deliveries_while_a_store_is_away_do_not_count(
    valkey: Embedded, client: "redis.Redis", stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries outlast any outage and are done when it is over; poison then still gets all its tries."""
    monkeypatch.setattr(loop, "_LONGEST_PAUSE_S", 0.4)
    await put(client, stream, "1", "poison")
    consumer = Consumer(away=True)
    async with consumer.on(valkey.endpoints.redis_url, stream):
        await until(lambda: min(consumer.seen["1"], consumer.seen["poison"]) > CAP)
        assert consumer.parked == []
        consumer.away = False
        tried = consumer.seen["poison"]
        await until(lambda: len(consumer.parked) == 1)
        await empty(client, stream)
    assert consumer.done == ["1"]
    (letter,) = consumer.parked
    assert (letter.fields, letter.reason) == ({"n": "poison"}, "LookupError")
    assert CAP - 1 <= consumer.seen["poison"] - tried <= CAP  # the last of the outage may be under way when it ends


async def test_one_letter_that_cannot_be_parked_holds_up_no_other(
    valkey: Embedded, client: "redis.Redis", stream: str
) -> None:
    """While the dead letters refuse one entry, others are parked, on its stream and on the next; it is parked later."""
    other = f"{stream}-other"
    await put(client, stream, "poison-first", "poison-second")
    await put(client, other, "poison-third")
    consumer = Consumer(unparkable=True)
    async with consumer.on(valkey.endpoints.redis_url, stream, other):
        await until(lambda: len(consumer.parked) == 2)
        assert {letter.fields["n"] for letter in consumer.parked} == {"poison-second", "poison-third"}
        consumer.unparkable = False
        await until(lambda: len(consumer.parked) == 3)
        await empty(client, stream)


@pytest.mark.parametrize("name", [b"\xff\xfe", "名字".encode("gbk"), b"__data__"])
async def test_an_entry_with_undecodable_fields_is_parked(
    valkey: Embedded, client: "redis.Redis", stream: str, name: bytes
) -> None:
    """Bytes that are no text end as a letter like any other poison, and what follows flows."""
    await client.xadd(stream, {name: b"\x00\xff\x89BIN\r\n\x1a\n"})
    await put(client, stream, "1")
    consumer = Consumer()
    async with consumer.on(valkey.endpoints.redis_url, stream):
        await until(lambda: len(consumer.parked) == 1 and consumer.done == ["1"])
        await empty(client, stream)
    assert consumer.parked[0].deliveries >= CAP


async def test_a_flushed_server_is_recovered_from(valkey: Embedded, client: "redis.Redis", stream: str) -> None:
    """When streams and groups are gone, the consumers make them anew and take what comes next."""
    consumer = Consumer()
    async with consumer.on(valkey.endpoints.redis_url, stream) as delivery:
        await put(client, stream, "1")
        await until(lambda: consumer.done == ["1"])
        await client.flushall()
        await put(client, stream, "2")
        await until(lambda: consumer.done == ["1", "2"])
        await empty(client, stream)
        await until(lambda: delivery.running)


async def test_a_lost_group_is_recovered_from(valkey: Embedded, client: "redis.Redis", stream: str) -> None:
    """When only the group is gone, what lies in the stream is taken by the new one."""
    consumer = Consumer()
    async with consumer.on(valkey.endpoints.redis_url, stream):
        await put(client, stream, "1")
        await until(lambda: consumer.done == ["1"])
        await client.xgroup_destroy(stream, stream)
        await put(client, stream, "2")
        await until(lambda: consumer.done == ["1", "2"])


async def test_a_restarted_server_is_recovered_from(valkey: Embedded, client: "redis.Redis", stream: str) -> None:
    """A server that was killed and comes back on its files has lost nothing that was acknowledged."""
    consumer = Consumer()
    async with consumer.on(valkey.endpoints.redis_url, stream):
        await put(client, stream, "1")
        await until(lambda: consumer.done == ["1"])
        os.kill(valkey.processes()[VALKEY], signal.SIGKILL)
        await until(lambda: VALKEY in valkey.dead())
        valkey.revive(VALKEY)
        await again(client, stream, "2")
        await until(lambda: "2" in consumer.done)
        await empty(client, stream)


async def again(client: "redis.Redis", stream: str, number: str) -> None:
    """Hand over as a producer does: until it is acknowledged."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await put(client, stream, number)
            except (RedisError, OSError):
                await asyncio.sleep(0.05)
            else:
                return


async def test_an_entry_deleted_before_its_acknowledgement_does_not_stay_pending(
    valkey: Embedded, client: "redis.Redis", stream: str
) -> None:
    """A worker that dies between deleting and acknowledging leaves nothing that anybody waits for."""
    await client.xgroup_create(stream, stream, id="0", mkstream=True)
    await put(client, stream, "1")
    await client.xreadgroup(stream, "ghost", {stream: ">"}, count=1)
    ((entry, _),) = await client.xrange(stream)  # type: ignore[misc]
    await client.xdel(stream, cast("bytes", entry))
    consumer = Consumer()
    async with consumer.on(valkey.endpoints.redis_url, stream):
        await empty(client, stream)
    assert consumer.parked == []
    assert consumer.done == []
