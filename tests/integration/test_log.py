"""The log on a real Postgres."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from events.bodies import open_bodies
from events.envelope import Command, NewEvent, Part, memory_stream
from events.errors import ConcurrencyError
from events.log import EventLog, head, read_sealed, read_stream
from events.model import CommandId, MemoryId, MessageBody, Position, Reinforced, Scope, TurnId
from events.postgres import Database
from events.sealer import Sealer
from tests.conftest import Stores

NOW = datetime(2026, 8, 1, 9, tzinfo=UTC)


def reinforced() -> Reinforced:
    return Reinforced(candidate_id=MemoryId(uuid4()), memory_id=MemoryId(uuid4()), version=1, turn_id=TurnId(uuid4()))


def command(scope: Scope, expected: int | None, count: int = 1) -> Command:
    events = tuple(NewEvent(reinforced(), NOW) for _ in range(count))
    return Command(CommandId(uuid4()), scope, memory_stream(scope.subject_id), expected, "worker:test", events)


async def test_a_command_is_appended_once(log: EventLog, scope: Scope) -> None:
    """A repeated command is answered with the versions of the first."""
    first = command(scope, 0, 3)
    assert (await log.append(first)).versions == (1, 3)
    again = await log.append(first)
    assert (again.outcome, again.versions) == ("known", (1, 3))


async def test_a_lost_race_is_an_answer(log: EventLog, scope: Scope) -> None:
    """The second writer of the same version is told to reload, and writes nothing."""
    await log.append(command(scope, 0))
    with pytest.raises(ConcurrencyError):
        await log.append(command(scope, 0))
    assert (await log.append(command(scope, 1))).versions == (2, 2)


async def test_a_sealed_body_opens_and_every_event_gets_a_position(log: EventLog, scope: Scope, stores: Stores) -> None:
    """What was appended comes back from the sealed tail, and its body opens with the person's keyring."""
    keyring = await stores.vault.keyring(scope)
    (key,) = await keyring.lease(1)
    event = NewEvent(reinforced(), NOW, (Part("memory", MessageBody(content="喜欢北京烤鸭"), key),))
    await log.append(Command(CommandId(uuid4()), scope, memory_stream(scope.subject_id), 0, "worker:test", (event,)))
    sealer = Sealer(stores.sealer)
    while await sealer.seal():
        pass
    async with stores.projector.connection() as connection:
        end = await head(connection)
        tail = await read_sealed(connection, Position(-1), end + 1)
    assert [stored.position for stored in tail] == list(range(end + 1))
    async with stores.reader.transaction(scope) as connection:
        (stored,) = await read_stream(connection, scope, memory_stream(scope.subject_id))
        opened = await open_bodies(connection, keyring, [(stored, "memory")])
    assert opened[stored.event_id, "memory"] == MessageBody(content="喜欢北京烤鸭").model_dump_json().encode()


async def test_nobody_gets_a_connection_with_the_transaction_of_another(stores: Stores) -> None:
    """Who leaves a transaction open, as one does who is cancelled while rolling back, takes the connection along."""
    database = Database(stores.endpoints.database_url, None, size=1)
    try:
        async with database.connection() as connection:
            await connection.execute("begin")
        async with database.transaction() as connection:
            assert await connection.fetchval("select 1") == 1
    finally:
        await database.close()
