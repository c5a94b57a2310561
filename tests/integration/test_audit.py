# ruff: noqa: S608 - every statement here is put together from constants
"""The check of the log on a real Postgres, against somebody who owns the database."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from sqlalchemy.engine import make_url

from events.envelope import Command, DataKey, NewEvent, Part, memory_stream
from events.log import append
from events.model import CommandId, KeyId, MemoryId, MessageBody, Reinforced, Scope, SubjectId, TenantId, TurnId
from events.postgres import Database
from events.sealer import Sealer
from ops.embedded import Endpoints
from ops.migrations import migrate
from services.audit.reading import audit

SIZE = 25
HIT = 17


@pytest.fixture(scope="module")
async def log(endpoints: Endpoints) -> AsyncIterator[Database]:
    """A small sealed log in a database of its own, as its owner."""
    name = f"audit_{uuid4().hex[:8]}"
    admin = Database(endpoints.database_url, None, size=1)
    async with admin.connection() as connection:
        await connection.execute(f"create database {name}")
    url = make_url(endpoints.database_url).set(database=name).render_as_string(hide_password=False)
    await migrate(url, "log")
    owner = Database(url, None)
    scope = Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))
    async with owner.connection() as connection:
        await append(connection, [command(scope, number) for number in range(SIZE)])
    while await Sealer(owner, batch=7).seal():
        pass
    yield owner
    await owner.close()
    await admin.close()


def command(scope: Scope, version: int) -> Command:
    event = Reinforced(candidate_id=MemoryId(uuid4()), memory_id=MemoryId(uuid4()), version=1, turn_id=TurnId(uuid4()))
    part = Part("memory", MessageBody(content="喜欢北京烤鸭 likes Peking duck"), DataKey(KeyId(uuid4()), bytes(32)))
    new = NewEvent(event, datetime(2026, 8, 1, 9, tzinfo=UTC), (part,))
    return Command(CommandId(uuid4()), scope, memory_stream(scope.subject_id), version, "worker:test", (new,))


async def faults_after(log: Database, *tampering: str) -> list[tuple[int | None, str]]:
    """Tamper as a superuser who switches the triggers off, verify, and take the tampering back."""
    async with log.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            for table in ("event", "sealed", "node", "fence", "body"):
                await connection.execute(f"alter table log.{table} disable trigger user")
            for statement in tampering:
                await connection.execute(statement, *([HIT] if "$1" in statement else []))
            _, faults = await audit(connection, batch=10)
        finally:
            await transaction.rollback()
    return [(fault.position, fault.what) for fault in faults]


EVENT = "where seq = (select seq from log.sealed where position = $1)"
FLIP = "update log.event set envelope = set_byte(envelope, 20, get_byte(envelope, 20) # 1) " + EVENT
MEND = "update log.event set leaf = sha256('\\x00'::bytea || envelope) " + EVENT
RENAME = "update log.event set type = 'accepted' " + EVENT
DELETE = "delete from log.event " + EVENT
BODY = f"where event_id = (select event_id from log.event {EVENT})"
EXCHANGE = "update log.body set ciphertext = set_byte(ciphertext, 3, get_byte(ciphertext, 3) # 1) " + BODY
LOSE = "delete from log.body " + BODY
REHASH = "update log.node set hash = sha256('x') where level = 0 and index = $1"


async def test_an_untouched_log_verifies(log: Database) -> None:
    """The check finds nothing where nothing was done."""
    assert await faults_after(log) == []


@pytest.mark.parametrize(
    ("tampering", "what"),
    [
        ((FLIP,), "does not hash to its leaf"),
        ((FLIP, MEND), "is not the hash of what is below it"),
        ((RENAME,), "column type contradicts"),
        ((EXCHANGE,), "is not the one its envelope names"),
        ((LOSE,), "no tombstone or expiry names its key"),
        ((REHASH,), "is not the hash of what is below it"),
    ],
    ids=["byte", "byte-and-leaf", "column", "ciphertext", "lost-body", "tree"],
)
async def test_a_superusers_tampering_is_found_at_its_position(
    log: Database, tampering: tuple[str, ...], what: str
) -> None:
    """Whatever was changed behind the triggers, the first fault names the position and the thing."""
    (position, found), *_ = await faults_after(log, *tampering)
    assert position == HIT
    assert what in found


async def test_a_deleted_event_leaves_a_gap(log: Database) -> None:
    """An event that is gone is noticed at the position behind it."""
    first, *_ = await faults_after(log, DELETE)
    assert first == (HIT + 1, f"the position that follows should be {HIT}")


async def test_an_event_that_was_never_sealed_is_found(log: Database) -> None:
    """Taking an event's place in the order away leaves it without one."""
    faults = await faults_after(
        log, "delete from log.sealed where position = 24", "update log.head set size = 24", "delete from log.unsealed"
    )
    assert (None, "1 events have no position and wait for none") in faults
