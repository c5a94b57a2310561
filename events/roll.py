"""Rolling the keys, so that no copy of the vault opens what was forgotten before (R4).

Deleting a data key does not delete its copies: write-ahead log, backups and dead pages of the vault still hold it,
wrapped. A roll makes these useless from above. Who had a key destroyed gets a new person key under a new key of the
tenant, and what is left of the person is rewrapped; every tenant's key goes under a new epoch. Then nothing that lives
opens what the old keys wrapped, and the secret of the old epoch, the one way into the copies, is destroyed.

State is in the tables alone: a generation or an epoch that is not the newest is work to do. So a roll that was killed
is taken up where it was. Each step is one short transaction, foreign keys refuse to drop a key that is still needed,
and no event is touched.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID, uuid4

import asyncpg
import structlog

from events import failpoint
from events.keyring import KEY, LOOKUP
from events.model import TenantId
from events.postgres import Connection, Database
from events.provider import Provider
from events.rewrap import PAUSE_S, Counts, TenantKeys, rewrap_people
from events.vault import EPOCH_LOCK

log = structlog.get_logger(__name__)
incidents = structlog.get_logger("cenotaph.incident")

_TENANTS = 100  # in one transaction
_PROBE = b"probe"
_ROLLING = "hashtext('vault.roll')"
_UNFINISHED = """
select (select count(*) from vault.epoch) > 1
    or exists (select from vault.retired_epoch where destroyed_at is null)"""
_STALE_TENANTS = """
select t.tenant_id, t.generation, t.epoch_id, t.wrapped, t.lookup,
       exists (select from vault.due d where d.tenant_id = t.tenant_id and d.taken) as due
from vault.tenant t
where t.epoch_id <> $1
  and not exists (select from vault.tenant n where n.tenant_id = t.tenant_id and n.generation > t.generation)
limit $2"""
_WRITE_TENANT = """
insert into vault.tenant (tenant_id, generation, epoch_id, wrapped, lookup) values ($1, $2, $3, $4, $5)
on conflict (tenant_id, generation) do update
  set epoch_id = excluded.epoch_id, wrapped = excluded.wrapped, lookup = excluded.lookup"""
_RETIRE = """
with old as (delete from vault.epoch where epoch_id <> $1 returning epoch_id, created_at)
insert into vault.retired_epoch (epoch_id, created_at) select epoch_id, created_at from old"""


@dataclass(frozen=True, slots=True)
class KeyState:
    """How the keys are.

    `oldest` is the birth of the oldest epoch in use, None in a vault without tenants; `due` counts people who wait for
    a new key; `missing` names epochs whose secret the provider should hold and does not, `unknown` those it holds for
    another vault.
    """

    oldest: datetime | None
    interrupted: bool
    due: int
    missing: frozenset[UUID]
    unknown: frozenset[UUID]


class Roller:
    """Rolls the keys of one vault.

    Args:
        database: a pool to the vault's cluster under `vault_roller`.
        provider: where the epochs' secrets lie.
    """

    def __init__(self, database: Database, provider: Provider) -> None:
        self._database = database
        self._provider = provider

    async def roll(self, since: datetime | None = None) -> Counts | None:
        """Finish a roll that was interrupted, then roll unless every epoch was born at or after `since`.

        Args:
            since: when the keys were last to roll; None rolls in any case.

        Returns:
            What was done; None where another process is rolling.

        Raises:
            SecretError: the provider cannot be used; what was not finished goes on with the next roll.
            TamperError: a tenant's key does not open under its epoch; nothing is destroyed.
        """
        async with self._alone() as connection:
            if connection is None:
                return None
            counts = Counts()
            if await connection.fetchval(_UNFINISHED):
                await self._finish(connection, counts)
            oldest: datetime | None = await connection.fetchval("select min(created_at) from vault.epoch")
            if oldest is not None and (since is None or oldest < since):
                await self._begin(connection)
                await self._finish(connection, counts)
        if counts != Counts():
            log.info("keys_rolled", **asdict(counts))
        if counts.unreadable:
            incidents.error("wrapped_keys_unreadable", count=counts.unreadable)
        return counts

    async def state(self) -> KeyState:
        """Look at the epochs and at who waits, and compare them with what the provider holds."""
        async with self._database.connection() as connection:
            epochs = await connection.fetch("select epoch_id, created_at, ready from vault.epoch")
            retired = await connection.fetch("select epoch_id from vault.retired_epoch where destroyed_at is null")
            due: int = await connection.fetchval("select count(*) from vault.due")
            interrupted: bool = await connection.fetchval(_UNFINISHED)
        held = await self._provider.list_epochs()
        return KeyState(
            oldest=min((row["created_at"] for row in epochs), default=None),
            interrupted=interrupted,
            due=due,
            missing=frozenset(row["epoch_id"] for row in epochs if row["ready"]) - held,
            unknown=held - {row["epoch_id"] for row in (*epochs, *retired)},
        )

    async def _begin(self, connection: Connection) -> None:
        """Say which epoch is to be, and take the marks: whoever is marked from now on waits for the next roll."""
        await self._check(connection)
        async with connection.transaction():
            await connection.execute("update vault.due set taken = true")
            await connection.execute("insert into vault.epoch (epoch_id) values ($1)", uuid4())
        failpoint.hit("roll.begun")

    async def _finish(self, connection: Connection, counts: Counts) -> None:
        await self._check(connection)
        target = await connection.fetchrow("select epoch_id, ready from vault.epoch order by created_at desc limit 1")
        assert target is not None, "begun"  # noqa: S101 - narrows the type
        epoch: UUID = target["epoch_id"]
        if not target["ready"]:
            await self._provider.new_epoch(epoch)
            failpoint.hit("roll.epoch_made")
            await connection.execute("update vault.epoch set ready = true where epoch_id = $1", epoch)
            failpoint.hit("roll.epoch_ready")
        while True:
            await self._tenants(connection, epoch, counts)
            await self._people(connection, counts)
            if await _retire(connection, epoch):
                break
        await self._check(connection)
        await self._destroy(connection, counts)

    async def _check(self, connection: Connection) -> None:
        """Use every epoch once before anything depends on it, or another one is destroyed."""
        for row in await connection.fetch("select epoch_id from vault.epoch where ready"):
            await self._provider.wrap(row["epoch_id"], _PROBE, _PROBE)

    async def _tenants(self, connection: Connection, target: UUID, counts: Counts) -> None:
        """Bring every tenant's key under the new epoch; a new key where somebody's keys were destroyed."""
        while True:
            async with connection.transaction():
                rows = await connection.fetch(_STALE_TENANTS, target, _TENANTS)
                for row in rows:
                    bound, due = row["tenant_id"].bytes, row["due"]
                    secret = await self._provider.unwrap(row["epoch_id"], row["wrapped"], bound + KEY)
                    lookup = await self._provider.unwrap(row["epoch_id"], row["lookup"], bound + LOOKUP)
                    await connection.execute(
                        _WRITE_TENANT,
                        row["tenant_id"],
                        row["generation"] + due,
                        target,
                        await self._provider.wrap(target, os.urandom(32) if due else secret, bound + KEY),
                        await self._provider.wrap(target, lookup, bound + LOOKUP),
                    )
                    counts.new_tenant_keys += due
            if not rows:
                return
            counts.tenants += len(rows)
            failpoint.hit("roll.tenants")

    async def _people(self, connection: Connection, counts: Counts) -> None:
        """Bring everybody under the newest key of their tenant, then drop its older ones."""
        tenants = await connection.fetch("select tenant_id from vault.tenant group by tenant_id having count(*) > 1")
        for tenant in tenants:
            keys = await self._open(connection, tenant["tenant_id"])
            while True:
                while await rewrap_people(connection, keys, counts):
                    pass
                try:
                    await connection.execute(
                        "delete from vault.tenant where tenant_id = $1 and generation < $2", keys.tenant_id, keys.newest
                    )
                except asyncpg.ForeignKeyViolationError:  # somebody was made under the old key meanwhile
                    await asyncio.sleep(PAUSE_S)
                else:
                    break
            failpoint.hit("roll.tenant_dropped")

    async def _open(self, connection: Connection, tenant_id: TenantId) -> TenantKeys:
        rows = await connection.fetch(
            "select generation, epoch_id, wrapped from vault.tenant where tenant_id = $1", tenant_id
        )
        secrets = {
            row["generation"]: await self._provider.unwrap(row["epoch_id"], row["wrapped"], tenant_id.bytes + KEY)
            for row in rows
        }
        return TenantKeys(tenant_id, secrets)

    async def _destroy(self, connection: Connection, counts: Counts) -> None:
        for row in await connection.fetch("select epoch_id from vault.retired_epoch where destroyed_at is null"):
            await self._provider.destroy_epoch(row["epoch_id"])
            failpoint.hit("roll.destroyed")
            await connection.execute(
                "update vault.retired_epoch set destroyed_at = clock_timestamp() where epoch_id = $1", row["epoch_id"]
            )
            counts.epochs_destroyed += 1

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[Connection | None]:
        """Borrow a connection that no other roller has the like of; None where one has."""
        async with self._database.connection() as connection:
            if not await connection.fetchval(f"select pg_try_advisory_lock({_ROLLING})"):
                yield None
                return
            try:
                yield connection
            finally:
                if not connection.is_closed():
                    await connection.fetchval(f"select pg_advisory_unlock({_ROLLING})")


async def _retire(connection: Connection, target: UUID) -> bool:
    """Take every other epoch out of use, and the marks with it; False where a tenant has come under one meanwhile."""
    try:
        async with connection.transaction():
            await connection.execute(EPOCH_LOCK)
            await connection.execute(_RETIRE, target)
            await connection.execute("delete from vault.due where taken")
    except asyncpg.ForeignKeyViolationError:
        return False
    failpoint.hit("roll.retired")
    return True
