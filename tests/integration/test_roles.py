"""What each role must not do is refused by the database itself (R3, R30, DESIGN §3)."""

# ruff: noqa: S608 - every query is put together from the names of our own tables

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

import asyncpg
import pytest

from events.envelope import Command, NewEvent, memory_stream
from events.log import EventLog
from events.model import CommandId, EventId, Scope, Tombstoned
from events.postgres import Database
from events.sealer import Sealer
from events.vault import Vault
from projections.facts import Facts
from projections.follower import Follower
from projections.index import IndexReader
from projections.keywords import Keywords
from projections.sessions import Sessions
from projections.tasks import Tasks
from tests.conftest import Stores
from tests.dice import dice
from tests.replay.histories import NOW, Person, born

ROLES = ("appender", "reader", "sealer", "projector", "eraser", "prober")
APPEND_ONLY = ("event", "sealed", "node", "fence", "checkpoint", "signing_key")
WRITES = ("update log.{0} set {1} = {1}", "delete from log.{0}", "truncate log.{0}", "truncate log.{0} cascade")
COLUMN = {
    "event": "type",
    "sealed": "position",
    "node": "hash",
    "fence": "target",
    "checkpoint": "note",
    "signing_key": "note",
}
PRIVATE = (
    *("log.event", "log.body", "log.fence", "facts.subject", "facts.memory", "keywords.entry"),
    *(
        "sessions.turn",
        "sessions.message",
        "sessions.summary",
        "sessions.summary_item",
        "tasks.task",
        "tasks.item",
        "ops.read",
        "ops.erasure",
        "ops.locating",
    ),
    *("ops.export", "ops.exported"),
)
NOT_ALLOWED = (asyncpg.InsufficientPrivilegeError,)


@dataclass(frozen=True)
class World:
    """Three people with rows everywhere: two of one tenant, one of another."""

    people: tuple[Person, ...]

    @property
    def mine(self) -> Scope:
        """Whose credential the reader holds."""
        return self.people[0].scope


@pytest.fixture(scope="module")
async def world(stores: Stores) -> World:
    """Let three people live, forget and be read, and bring the read models up to date."""
    log, random = EventLog(stores.appender), dice(7)
    one = await born(stores, log, random)
    people = (one, await born(stores, log, random, one.scope.tenant_id), await born(stores, log, random))
    for person in people:
        await person.live(12)
        await person.begin()
        while not any(person.desk.sessions.values()):
            await person.sum_up(next(iter(person.said)))
        await person.accept(next(iter(person.said)))
        await person.forget(next(iter(person.said)))
        await person.accept(next(iter(person.said)))
        async with stores.owner.connection() as connection:
            owner = (uuid4(), person.scope.tenant_id, person.scope.subject_id)
            await connection.execute(
                "insert into ops.read (read_id, tenant_id, subject_id, role, memories, versions)"
                " values ($1, $2, $3, 'chat', '{}', '{}')",
                *owner,
            )
            await connection.execute(
                "insert into ops.locating (request_id, tenant_id, subject_id, memory_id) values ($1, $2, $3, $1)",
                *owner,
            )
            await connection.execute(
                "insert into ops.export (export_id, tenant_id, subject_id, purpose, at)"
                " values ($1, $2, $3, 'download', now())",
                *owner,
            )
            await connection.execute("insert into ops.exported values ($1, $2, $3, $1, 1)", *owner)
            await connection.execute(
                "insert into ops.erasure (tombstone, tenant_id, subject_id, memory_id, requested_at)"
                " values ($1, $2, $3, $1, now())",
                *owner,
            )
    await log.close()
    while await Sealer(stores.sealer).seal():
        pass
    index = IndexReader(Vault(stores.keeper, stores.provider))
    for model in (Facts(index), Keywords(index), Sessions(), Tasks()):
        await Follower(model, stores.projector).catch_up()
    return World(people)


@asynccontextmanager
async def acting(url: str, role: str | None) -> AsyncIterator[Database]:
    database = Database(url, role, size=1)
    try:
        yield database
    finally:
        await database.close()


async def refused(database: Database, sql: str, *args: object, scope: Scope | None = None) -> None:
    """Run a statement that must be refused as not allowed."""
    with pytest.raises(NOT_ALLOWED):
        async with database.transaction(scope) as connection:
            await connection.execute(sql, *args)


@pytest.mark.parametrize("role", [*ROLES, None], ids=lambda role: role or "owner")
async def test_nobody_changes_what_is_written(stores: Stores, world: World, role: str | None) -> None:
    """UPDATE, DELETE and TRUNCATE on what was written are refused to every role and the owner."""
    async with acting(stores.endpoints.database_url, role and f"cenotaph_{role}") as database:
        for table in APPEND_ONLY:
            for statement in WRITES:
                await refused(database, statement.format(table, COLUMN[table]), scope=world.mine)
        for statement in ("update log.body set part = part", "truncate log.body"):
            await refused(database, statement, scope=world.mine)


@pytest.mark.parametrize("role", [*ROLES, None], ids=lambda role: role or "owner")
async def test_a_body_without_a_stone_stays(stores: Stores, world: World, role: str | None) -> None:
    """A body whose key is not fenced cannot be deleted by anybody, the eraser and the owner included."""
    async with acting(stores.endpoints.database_url, role and f"cenotaph_{role}") as database:
        await refused(
            database,
            "delete from log.body where not exists (select from log.fence where target = key_id)",
            scope=world.mine,
        )
        await refused(database, "delete from log.body", scope=world.mine)


async def test_the_eraser_removes_what_a_tombstone_names_and_nothing_else(
    stores: Stores, log: EventLog, world: World
) -> None:
    """`remove_bodies_v1` takes the bodies of one tombstone; an event that is none, or of another tenant, takes none."""
    person, stranger = world.people[0], world.people[2]
    memory = max(person.living, key=lambda each: len(person.keys[each]))
    keys = person.keys[memory]

    async def tombstone(scope: Scope) -> EventId:
        command = CommandId(uuid4())
        stone = NewEvent(Tombstoned(memories=(), messages=(), keys=tuple(keys)), NOW)
        await log.append(Command(command, scope, memory_stream(scope.subject_id), None, "worker:test", (stone,)))
        async with stores.owner.connection() as connection:
            return EventId(await connection.fetchval("select event_id from log.event where command_id = $1", command))

    async def left() -> int:
        async with stores.owner.connection() as connection:
            count: int = await connection.fetchval("select count(*) from log.body where key_id = any($1::uuid[])", keys)
        return count

    before = await left()
    assert before >= len(keys)
    async with acting(stores.endpoints.database_url, "cenotaph_eraser") as database, database.connection() as eraser:
        remove = "select log.remove_bodies_v1($1)"
        assert await eraser.fetchval(remove, await tombstone(stranger.scope)) == 0
        ordinary = await eraser.fetchval("select event_id from log.event where type = 'accepted' limit 1")
        assert await eraser.fetchval(remove, ordinary) == 0
        assert await eraser.fetchval(remove, uuid4()) == 0
        assert await left() == before
        stone = await tombstone(person.scope)
        assert await eraser.fetchval(remove, stone) == before
        assert await eraser.fetchval(remove, stone) == await left() == 0


FORBIDDEN = {
    "appender": (
        *(f"select from {table}" for table in (*PRIVATE, "log.stream", "log.sealed", "log.head", "log.unsealed")),
        "insert into log.event select",
        "insert into log.body select",
        "insert into log.fence values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid())",
        "update log.stream set version = 0",
        "select log.remove_bodies_v1(gen_random_uuid())",
    ),
    "reader": (
        "select from log.stream",
        "select from log.node",
        "select from log.unsealed",
        "update log.copied set size = 0",
        "insert into log.fence values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid())",
        "select log.remove_bodies_v1(gen_random_uuid())",
        "select log.lock_stream_v1(gen_random_uuid(), 'x')",
        "update facts.memory set status = 'current'",
        "delete from facts.memory",
        "update sessions.message set forgotten = false",
        "delete from keywords.entry",
        "update ops.erasure set propagated_at = now()",
        "delete from ops.read",
        "select from ops.dead_letter",
        "insert into ops.api_key values ('k', gen_random_uuid(), '')",
        "update read_model.checkpoint set position = 0",
    ),
    "sealer": (
        "select from log.body",
        "select from log.fence",
        "insert into log.unsealed values (1)",
        "insert into log.event select",
        "select log.remove_bodies_v1(gen_random_uuid())",
        *(f"select from {table}" for table in PRIVATE if not table.startswith("log.")),
    ),
    "projector": (
        "insert into log.sealed values (-1, -1)",
        "update log.head set size = 0",
        "select from log.node",
        "select log.remove_bodies_v1(gen_random_uuid())",
        "select from ops.api_key",
        "select from ops.read",
        "select from ops.erasure",
    ),
    "eraser": (
        "insert into log.fence values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid())",
        "insert into log.event select",
        "update facts.memory set status = 'current'",
        "delete from facts.memory",
        "update log.head set size = 0",
        "select hash from ops.api_key",
    ),
    "prober": (
        "select log.remove_bodies_v1(gen_random_uuid())",
        "insert into log.fence values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid())",
        "update facts.memory set status = 'forgotten'",
        "update ops.erasure set propagated_at = now()",
        "delete from keywords.entry",
        "select hash from ops.api_key",
    ),
}
APPEND = "select log.append_v1('{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}')"
HOSTILE = (
    "create table public.mine (x int)",
    "create schema mine",
    "alter table log.event disable trigger append_only",
    "drop trigger append_only on log.event",
    "alter table log.event disable trigger all",
    "alter table log.checkpoint disable trigger append_only",
    "alter table log.event disable row level security",
    "drop table log.event",
    "drop policy reader on log.event",
    "drop function log.forbid_v1() cascade",
    "create or replace function log.forbid_v1() returns trigger language plpgsql as 'begin return null; end'",
    "create trigger mine before insert on log.event for each row execute function log.forbid_v1()",
    "set session_replication_role = replica",
    "select pg_read_file('/etc/passwd')",
    "select lo_import('/etc/passwd')",
    "copy log.event to '/tmp/mine'",
    "copy (select 1) to program 'true'",
    "create extension dblink",
    "alter role cenotaph_reader superuser",
    "set role cenotaph",
    "set session authorization cenotaph",
    "reset role; alter table log.event disable trigger append_only",
    "reset session authorization; update log.event set type = type",
    "grant cenotaph_eraser to cenotaph_reader",
)


@pytest.mark.parametrize("role", FORBIDDEN)
async def test_a_pool_logs_in_as_its_role(stores: Stores, world: World, role: str) -> None:
    """There is no other user behind the role that a statement could go back to, and no role to change into."""
    del world
    async with acting(stores.endpoints.database_url, f"cenotaph_{role}") as database, database.connection() as one:
        await one.execute("reset role")
        await one.execute("reset session authorization")
        for user in ("session_user", "current_user"):
            assert await one.fetchval(f"select {user}") == f"cenotaph_{role}"
        others = "select count(*) from pg_auth_members where member = session_user::regrole"
        assert await one.fetchval(others) == 0


@pytest.mark.parametrize("role", FORBIDDEN)
async def test_a_role_can_do_its_own_work_only(stores: Stores, world: World, role: str) -> None:
    """What belongs to another role is refused, and so is every way of changing the rules."""
    async with acting(stores.endpoints.database_url, f"cenotaph_{role}") as database:
        statements = [*FORBIDDEN[role], *HOSTILE]
        if role not in {"appender", "eraser"}:
            statements.append(APPEND)
        for statement in statements:
            await refused(database, statement, scope=world.mine)


@pytest.mark.parametrize("table", PRIVATE)
async def test_a_reader_without_scope_gets_an_error(stores: Stores, world: World, table: str) -> None:
    """No scope, an empty one and half of one are errors, before and after a transaction that had one."""
    count = f"select count(*) from {table}"
    async with acting(stores.endpoints.database_url, "cenotaph_reader") as database:
        for _ in range(2):
            async with database.connection() as connection:
                with pytest.raises((asyncpg.UndefinedObjectError, asyncpg.InvalidTextRepresentationError)):
                    await connection.fetchval(count)
                for name, value in (("tenant", world.mine.tenant_id), ("subject", world.mine.subject_id)):
                    await connection.execute("begin")
                    await connection.execute(f"set local cenotaph.{name} = '{value}'")
                    with pytest.raises((asyncpg.UndefinedObjectError, asyncpg.InvalidTextRepresentationError)):
                        await connection.fetchval(count)
                    await connection.execute("rollback")
            async with database.transaction(Scope.model_validate({"tenant_id": uuid4(), "subject_id": uuid4()})) as one:
                assert await one.fetchval(count) == 0


@pytest.mark.parametrize("table", PRIVATE)
async def test_a_reader_sees_one_person(stores: Stores, world: World, table: str) -> None:
    """With A's scope there are A's rows and nobody else's: of the same tenant, or of the same subject elsewhere."""
    everything, hostile = f"select tenant_id, subject_id from {table}", " where true or tenant_id is not null"
    async with acting(stores.endpoints.database_url, "cenotaph_reader") as database:
        for person in world.people:
            async with database.transaction(person.scope) as connection:
                rows = await connection.fetch(everything + hostile)
            assert {(row["tenant_id"], row["subject_id"]) for row in rows} == {
                (person.scope.tenant_id, person.scope.subject_id)
            }, table
        crossed = Scope(tenant_id=world.people[2].scope.tenant_id, subject_id=world.mine.subject_id)
        async with database.transaction(crossed) as connection:
            assert await connection.fetch(everything) == []


PEEKS = (
    "select count(*) from {table} where subject_id::text = '{other}'",
    "select count(*) from (select * from {table} union all select * from {table}) t where subject_id = '{other}'",
    "with x as materialized (select * from {table}) select count(*) from x where subject_id = '{other}'",
    "select count(*) from {table} a join {table} b on b.tenant_id = a.tenant_id where b.subject_id = '{other}'",
)


@pytest.mark.parametrize("table", PRIVATE)
async def test_no_query_of_the_reader_finds_another_person(stores: Stores, world: World, table: str) -> None:
    """Casts, unions, joins and leaky predicates see nothing of B; turning row security off is an error."""
    async with acting(stores.endpoints.database_url, "cenotaph_reader") as database:
        for other in world.people[1:]:
            for peek in PEEKS:
                async with database.transaction(world.mine) as connection:
                    assert not await connection.fetchval(peek.format(table=table, other=other.scope.subject_id))
            leak = f"select 1 / (case when subject_id = '{other.scope.subject_id}' then 0 else 1 end) from {table}"
            async with database.transaction(world.mine) as connection:
                await connection.fetch(leak)  # a division by zero would tell
        await refused(database, f"set local row_security = off; select * from {table}", scope=world.mine)
        await refused(database, f"copy {table} to stdout; select pg_read_file('x')", scope=world.mine)


async def test_a_reader_does_not_write_for_another_person(stores: Stores, world: World) -> None:
    """The record of reads takes A's rows from A only."""
    insert = "insert into ops.read (read_id, tenant_id, subject_id, role, memories, versions)"
    values = " values (gen_random_uuid(), $1, $2, 'chat', '{}', '{}')"
    async with acting(stores.endpoints.database_url, "cenotaph_reader") as database:
        for other in world.people[1:]:
            await refused(database, insert + values, other.scope.tenant_id, other.scope.subject_id, scope=world.mine)


VAULT_TABLES = ("epoch", "tenant", "person", "data_key", "alias", "due", "retired_epoch", "gone")
VAULT_MAY = {
    "keeper": {"epoch", "tenant", "person", "data_key", "alias"},
    "opener": set[str](),
    "eraser": {"data_key", "person"},
}


@pytest.mark.parametrize("role", VAULT_MAY)
async def test_vault_roles(stores: Stores, world: World, role: str) -> None:
    """Nobody changes a vault row, only the eraser deletes and only data keys, an opener makes nothing."""
    del world
    async with acting(stores.endpoints.vault_url, f"vault_{role}") as database:
        for table in VAULT_TABLES:
            column = "epoch_id" if "epoch" in table else "tenant_id"
            await refused(database, f"update vault.{table} set {column} = {column}")
            await refused(database, f"truncate vault.{table} cascade")
            if (role, table) != ("eraser", "data_key"):
                await refused(database, f"delete from vault.{table}")
            if table not in VAULT_MAY[role]:
                await refused(database, f"insert into vault.{table} select")
        for statement in ("create table vault.mine (x int)", "drop table vault.person", "select pg_read_file('x')"):
            await refused(database, statement)


async def test_a_roller_destroys_no_data_key_and_makes_none(stores: Stores, world: World) -> None:
    """What rolls the keys may rewrap data keys; making, deleting and outside ids are not its work."""
    del world
    async with acting(stores.endpoints.vault_url, "vault_roller") as database:
        for statement in (
            "insert into vault.data_key select",
            "delete from vault.data_key",
            "truncate vault.data_key",
            "insert into vault.alias select",
            "update vault.alias set kind = kind",
            "delete from vault.alias",
            "delete from vault.retired_epoch",
            "alter table vault.data_key disable trigger due",
        ):
            await refused(database, statement)


async def test_the_roles_can_do_their_work(stores: Stores, world: World) -> None:
    """Control: the statements that are refused elsewhere work for the role they belong to."""
    works = {
        "reader": "select count(*) from facts.memory",
        "projector": "update facts.memory set status = status",
        "sealer": "select count(*) from log.unsealed",
        "eraser": "select log.remove_bodies_v1(gen_random_uuid())",
        "prober": "select count(*) from log.node",
    }

    async def work(role: str, statement: str) -> None:
        async with (
            acting(stores.endpoints.database_url, f"cenotaph_{role}") as database,
            database.transaction(world.mine) as connection,
        ):
            await connection.execute(statement)

    await asyncio.gather(*(work(role, statement) for role, statement in works.items()))
