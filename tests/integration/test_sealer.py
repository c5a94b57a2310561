"""One sealer at a time, whoever is killed: dense positions, no leaf lost, the root of the naive tree (R5)."""

import asyncio
from datetime import UTC, datetime
from hashlib import sha256
from uuid import uuid4

import asyncpg
import pytest

from events.envelope import Command, NewEvent
from events.errors import UnavailableError
from events.log import EventLog, Tail
from events.model import CommandId, MemoryId, Reinforced, Scope, TurnId
from events.postgres import Database
from events.sealer import Sealer
from tests.conftest import Stores

NOW = datetime(2026, 8, 1, 9, tzinfo=UTC)


async def fill(log: EventLog, scope: Scope, commands: int, each: int = 20) -> int:
    def event() -> NewEvent:
        ids = MemoryId(uuid4()), MemoryId(uuid4()), TurnId(uuid4())
        return NewEvent(Reinforced(candidate_id=ids[0], memory_id=ids[1], version=1, turn_id=ids[2]), NOW)

    made = [
        Command(CommandId(uuid4()), scope, f"seal/{n % 5}", None, "worker:test", tuple(event() for _ in range(each)))
        for n in range(commands)
    ]
    await asyncio.gather(*(log.append(command) for command in made))
    return commands * each


async def drain(*sealers: Sealer) -> int:
    """Seal with every sealer at once until nothing is left; return how many events they say they sealed."""

    async def work(sealer: Sealer) -> int:
        total = 0
        while count := await sealer.seal():
            total += count
        return total

    return sum(await asyncio.gather(*(work(sealer) for sealer in sealers)))


def naive(hashes: list[bytes]) -> bytes:
    """Level by level: the same tree as RFC 9162's, written the other way round."""
    while len(hashes) > 1:
        pairs = [sha256(b"\x01" + a + b).digest() for a, b in zip(hashes[::2], hashes[1::2], strict=False)]
        hashes = [*pairs, *hashes[len(pairs) * 2 :]]
    return hashes[0]


async def check(stores: Stores) -> None:
    """Compare positions, head and root with the events themselves."""
    async with stores.owner.transaction() as connection:
        rows = await connection.fetch(
            "select s.position, e.envelope from log.sealed s join log.event e using (seq) order by s.position"
        )
        head = await connection.fetchrow("select size, root from log.head")
        left = await connection.fetchval(
            "select count(*) from log.event e where not exists (select from log.sealed s where s.seq = e.seq)"
        )
        doubled = await connection.fetchval("select count(*) - count(distinct seq) from log.sealed")
    assert head is not None
    assert (left, doubled) == (0, 0)
    assert [row["position"] for row in rows] == list(range(head["size"]))
    assert naive([sha256(b"\x00" + row["envelope"]).digest() for row in rows]) == head["root"]


async def test_two_sealers_at_once_seal_each_event_once(stores: Stores, log: EventLog, scope: Scope) -> None:
    """Three sealers race: what they sealed together is what there was, dense and without duplicates."""
    await drain(Sealer(stores.sealer))
    appended = await fill(log, scope, 60)
    assert await drain(*(Sealer(stores.sealer, batch) for batch in (7, 50, 111))) == appended
    await check(stores)


async def test_a_sealer_that_is_killed_loses_nothing(stores: Stores, log: EventLog, scope: Scope) -> None:
    """Its connection is terminated while it seals; the next call seals all of it, and the pool heals by itself."""
    await drain(Sealer(stores.sealer))
    appended = await fill(log, scope, 10)
    doomed = Database(stores.endpoints.database_url, "cenotaph_sealer", size=1)
    sealer = Sealer(doomed)
    async with doomed.connection() as connection:
        victim = await connection.fetchval("select pg_backend_pid()")
    # holding the head row stops the sealer in the middle of its transaction
    async with stores.owner.transaction() as holder:
        await holder.execute("select from log.head for update")
        sealing = asyncio.create_task(sealer.seal())
        while not await _waits(stores, victim):
            assert not sealing.done()
        async with stores.owner.connection() as killer:
            await killer.execute("select pg_terminate_backend($1)", victim)
        with pytest.raises(UnavailableError):
            await sealing
    assert await sealer.seal() == appended
    await check(stores)
    await doomed.close()


async def test_a_sealer_killed_behind_its_last_statement_loses_nothing(
    stores: Stores, log: EventLog, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything was written but the commit: all of it is undone, and sealed by the next sealer at the same places."""
    await drain(Sealer(stores.sealer))
    appended = await fill(log, scope, 10)
    async with stores.owner.connection() as connection:
        before = await connection.fetchval("select size from log.head")
    execute = asyncpg.Connection.execute

    async def die(self: asyncpg.Connection, query: str, *args: object) -> str:
        done: str = await execute(self, query, *args)
        if "pg_notify" in query:
            async with stores.owner.connection() as killer:
                await killer.execute("select pg_terminate_backend($1, 5000)", self.get_server_pid())
        return done

    with monkeypatch.context() as patch:
        patch.setattr(asyncpg.Connection, "execute", die)
        with pytest.raises(UnavailableError):
            await Sealer(stores.sealer).seal()
    async with stores.owner.connection() as connection:
        assert await connection.fetchval("select size from log.head") == before
    assert await drain(Sealer(stores.sealer)) == appended
    await check(stores)


async def test_a_seal_rings_the_bell(stores: Stores, log: EventLog, scope: Scope) -> None:
    """A reader that waits is woken by the seal, long before its poll."""
    bell = Tail(stores.endpoints.database_url, poll_s=30)
    await drain(Sealer(stores.sealer))
    waiting = asyncio.create_task(bell.wait())
    while not waiting.done():
        await fill(log, scope, 1)
        await drain(Sealer(stores.sealer))
    await asyncio.wait_for(waiting, 90)
    await bell.close()


async def test_a_log_without_anything_new_is_left_alone(stores: Stores) -> None:
    """Sealing nothing is 0 and changes neither size nor root."""
    await drain(Sealer(stores.sealer))
    async with stores.owner.connection() as connection:
        before = await connection.fetchrow("select size, root, frontier from log.head")
        assert await Sealer(stores.sealer).seal() == 0
        assert await connection.fetchrow("select size, root, frontier from log.head") == before


async def _waits(stores: Stores, pid: int) -> bool:
    async with stores.owner.connection() as connection:
        return bool(
            await connection.fetchval("select wait_event_type = 'Lock' from pg_stat_activity where pid = $1", pid)
        )
