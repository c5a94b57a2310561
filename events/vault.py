"""The vault: data key → person key → tenant key → provider epoch, and the outside ids that die with a person (R4).

Data keys are durable here before anything is sealed with them. Destroying a data key blinds every copy of the body it
sealed; `events/roll.py` makes copies of the vault useless too.
"""

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import asyncpg

from events.batcher import Batcher
from events.envelope import encrypt
from events.errors import ErasedError, ScopeError, UnavailableError
from events.keyring import KEY, LOOKUP, Keyring, PersonKey, find_names, intern_names, open_person
from events.leases import AHEAD, Lease, Leases
from events.model import KeyId, Scope, SubjectId, TenantId
from events.postgres import Connection, Database, Row, readers_of
from events.provider import Provider
from events.unwrapper import Unwrapped, Unwrapper

_TENANT_ITSELF = UUID(int=0)
_TRIES = 5  # a roll changes a tenant's key once
_AT_ONCE, _BATCH = 2, 256  # what many requests ask at once is one statement and one commit
_ERASE_S = 120.0  # a person may have a hundred thousand keys
_LEFT = {
    "data_keys": "select count(*) from vault.data_key"
    " where tenant_id = $1 and ($2::uuid is null or subject_id = $2) and subject_id <> $3",
    "people": "select count(*) from vault.person"
    " where tenant_id = $1 and ($2::uuid is null or subject_id = $2) and subject_id <> $3",
    "outside_ids": "select count(*) from vault.alias"
    " where tenant_id = $1 and ($2::uuid is null or subject_id = $2) and subject_id <> $3 and since is null"
    " and subject_id <> '00000000-0000-0000-0000-000000000000'",
}
_Wanted = tuple[Scope, int | None]  # whose key, and which generation of it
EPOCH_LOCK = "select pg_advisory_xact_lock(hashtext('vault.epoch'))"
"""Held by whoever puts a tenant under an epoch or takes one out of use."""


class Vault:
    """Opens keyrings, makes tenants, destroys keys.

    Args:
        database: a pool to the vault's cluster under `vault_keeper`, `vault_opener` or `vault_eraser`.
        provider: where the epochs' secrets lie.
        ahead: the most data keys leased ahead for one person.
    """

    def __init__(self, database: Database, provider: Provider, ahead: int = AHEAD) -> None:
        self._database = database
        self._provider = provider
        self._unwrapper = Unwrapper(provider)
        self._people: Batcher[_Wanted, Unwrapped | None] = Batcher(
            self._open_people, "open", at_once=_AT_ONCE, batch=_BATCH
        )
        leases: Batcher[Lease, None] = Batcher(self._keep_leases, "lease", at_once=_AT_ONCE, batch=_BATCH)
        self._leases = Leases(leases.ask, ahead)

    async def create_tenant(self) -> TenantId:
        """Make a tenant with a key of its own under the newest epoch."""
        tenant = TenantId(uuid4())
        async with self._database.transaction() as connection:
            await connection.execute(EPOCH_LOCK)
            epoch: UUID | None = await connection.fetchval(
                "select epoch_id from vault.epoch where ready order by created_at desc limit 1"
            )
            if epoch is None:
                epoch = uuid4()
                await self._provider.new_epoch(epoch)
                await connection.execute("insert into vault.epoch (epoch_id, ready) values ($1, true)", epoch)
            await connection.execute(
                "insert into vault.tenant (tenant_id, generation, epoch_id, wrapped, lookup)"
                " values ($1, 1, $2, $3, $4)",
                tenant,
                epoch,
                await self._provider.wrap(epoch, os.urandom(32), tenant.bytes + KEY),
                await self._provider.wrap(epoch, os.urandom(32), tenant.bytes + LOOKUP),
            )
        return tenant

    async def subject(self, tenant: TenantId, outside: str) -> SubjectId:
        """Map a person's outside id to the internal one, making it on first use.

        Raises:
            ScopeError: no such tenant.
        """
        lookup = await self._lookup(tenant)
        found = await intern_names(self._database, tenant, _TENANT_ITSELF, lookup, [("subject", outside)])
        return SubjectId(found["subject", outside])

    async def subjects(self, tenant: TenantId) -> list[SubjectId]:
        """List the persons of a tenant that have a key, by id."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select distinct subject_id from vault.person where tenant_id = $1 order by subject_id", tenant
            )
        return [SubjectId(row["subject_id"]) for row in rows]

    async def find_subject(self, tenant: TenantId, outside: str) -> SubjectId | None:
        """Map a person's outside id to the internal one, None if nobody of that name was ever seen.

        Raises:
            ScopeError: no such tenant.
        """
        lookup = await self._lookup(tenant)
        found = await find_names(self._database, tenant, _TENANT_ITSELF, lookup, [("subject", outside)])
        return SubjectId(found["subject", outside]) if found else None

    async def _lookup(self, tenant: TenantId) -> bytes:
        return (await self._open_tenant(tenant, "tenant_lookup", LOOKUP))[1]

    async def keyring(self, scope: Scope) -> Keyring:
        """Open one person's keyring, making the person's keys on first use.

        Raises:
            ScopeError: no such tenant, or no such person where this process may not make one.
            ErasedError: the person, or the whole tenant, was forgotten.
            UnavailableError: the tenant's key keeps changing.
        """
        for _ in range(_TRIES):
            newest = await self._person_key(scope, None)
            if newest is not None:
                return Keyring(self._database, scope, newest, self._person_key, self._leases)
            if await self._is_gone(scope):
                raise ErasedError(scope.subject_id)
            try:
                await self._create_person(scope)
            except asyncpg.InsufficientPrivilegeError:  # an opener makes nobody
                raise ScopeError(f"subject {scope.subject_id} does not exist in tenant {scope.tenant_id}") from None
        raise UnavailableError("the tenant's key is being replaced; try again")

    async def destroy(self, scope: Scope, key_ids: Iterable[KeyId]) -> int:
        """Destroy data keys for good; return how many went."""
        async with self._database.connection() as connection:
            gone = await connection.fetch(
                "delete from vault.data_key where tenant_id = $1 and subject_id = $2 and key_id = any($3::uuid[])"
                " returning key_id",
                scope.tenant_id,
                scope.subject_id,
                list(key_ids),
            )
        return len(gone)

    async def erase_person(self, scope: Scope, at: datetime) -> None:
        """Destroy everything of a person for good, in one transaction.

        Of the outside id only a keyed digest stays, under a new internal id, so that what was said until `at` is not
        taken again when somebody of that name comes back.
        """
        async with self._database.connection() as connection:
            await connection.fetchval(
                "select vault.erase_person_v1($1, $2, $3)", scope.tenant_id, scope.subject_id, at, timeout=_ERASE_S
            )

    async def bar_tenant(self, tenant: TenantId) -> None:
        """Bar a tenant for good: nobody of it gets a key again. People go one by one, the tenant's own key last."""
        async with self._database.connection() as connection:
            await connection.fetchval("select vault.bar_tenant_v1($1)", tenant)

    async def drop_tenant(self, tenant: TenantId) -> None:
        """Destroy what is left of a tenant: its names and its key, under which nothing is wrapped any more."""
        async with self._database.connection() as connection:
            await connection.fetchval("select vault.drop_tenant_v1($1)", tenant, timeout=_ERASE_S)

    async def discard(self, scope: Scope) -> None:
        """Destroy the keys of somebody who was made for a purpose and has no name."""
        async with self._database.connection() as connection:
            await connection.fetchval("select vault.discard_v1($1, $2)", scope.tenant_id, scope.subject_id)

    async def people(self, tenant: TenantId) -> list[SubjectId]:
        """Name everybody of a tenant who still has a key."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select distinct subject_id from vault.person where tenant_id = $1 order by 1", tenant
            )
        return [SubjectId(row["subject_id"]) for row in rows]

    async def left_of(self, tenant: TenantId, subject: SubjectId | None, but: SubjectId) -> dict[str, int]:
        """Count what is left of a person, or of a whole tenant, by table; one subject, and a forgotten name, aside."""
        async with self._database.connection() as connection:
            return {name: await connection.fetchval(query, tenant, subject, but) for name, query in _LEFT.items()}

    async def present(self, key_ids: Iterable[KeyId]) -> set[KeyId]:
        """Say which data keys still exist."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select key_id from vault.data_key where key_id = any($1::uuid[])", list(key_ids)
            )
        return {KeyId(row["key_id"]) for row in rows}

    async def readers(self, table: str) -> list[str]:
        """Name the roles that may select from a table of the vault."""
        async with self._database.connection() as connection:
            return await readers_of(connection, table)

    async def oldest_epoch(self) -> datetime | None:
        """Say when the oldest epoch in use was born, None in a vault without tenants."""
        async with self._database.connection() as connection:
            born: datetime | None = await connection.fetchval("select min(created_at) from vault.epoch")
        return born

    async def vacuum(self, run: Callable[[Connection], Awaitable[None]]) -> datetime | None:
        """Let the vault's tables be vacuumed; return up to which moment what was removed is out of their pages.

        None where the owner of the vault may not see the transactions of others.
        """
        async with self._database.connection() as connection:
            covered: datetime | None = await connection.fetchval("select vault.oldest_transaction_v1()")
            await run(connection)
        return covered

    async def dead_before(self, copies: timedelta) -> datetime | None:
        """Say before which moment no key that was destroyed opens any more, from any copy; None where nothing says so.

        That is the birth of the oldest epoch, once those before it are destroyed, copies of their secrets included.
        """
        async with self._database.connection() as connection:
            born: datetime | None = await connection.fetchval(
                "select min(created_at) from vault.epoch"
                " where not exists (select from vault.retired_epoch where destroyed_at is null)"
            )
            now: datetime = await connection.fetchval("select clock_timestamp()")
        return born if born is not None and now - born >= copies else None

    async def _person_key(self, scope: Scope, generation: int | None) -> PersonKey | None:
        """Read and open a generation of a person's key, the newest where none is named; None where it is gone."""
        opened = await self._people.ask((scope, generation))
        return None if opened is None else open_person(scope, *opened)

    async def _open_people(self, wanted: Sequence[_Wanted]) -> list[Unwrapped | None]:
        """Read generations of people's keys, each with the key of its tenant."""
        return await self._unwrapper.read(lambda: self._read_people(wanted), "tenant_wrapped", KEY)

    async def _open_tenant(self, tenant: TenantId, column: str, purpose: bytes) -> Unwrapped:
        """Read a tenant and unwrap what it holds for a purpose.

        Raises:
            ScopeError: no such tenant.
        """
        (opened,) = await self._unwrapper.read(lambda: self._read_tenant(tenant), column, purpose)
        if opened is None:
            raise ScopeError(f"tenant {tenant} does not exist")
        return opened

    async def _read_people(self, wanted: Sequence[_Wanted]) -> list[Row | None]:
        """Read generations of people's keys, the newest where none is named; None for one that is gone."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select distinct on (w.n)"
                " w.n, t.tenant_id, t.epoch_id, t.wrapped as tenant_wrapped, p.generation, p.wrapped, p.lookup, p.since"
                " from unnest($1::uuid[], $2::uuid[], $3::integer[]) with ordinality"
                " as w(tenant_id, subject_id, generation, n)"
                " join vault.person p on p.tenant_id = w.tenant_id and p.subject_id = w.subject_id"
                " and p.generation = coalesce(w.generation, p.generation)"
                " join vault.tenant t on t.tenant_id = p.tenant_id and t.generation = p.tenant_generation"
                " order by w.n, p.generation desc",
                [scope.tenant_id for scope, _ in wanted],
                [scope.subject_id for scope, _ in wanted],
                [generation for _, generation in wanted],
            )
        found = {row["n"]: row for row in rows}
        return [found.get(number) for number in range(1, len(wanted) + 1)]

    async def _keep_leases(self, leases: Sequence[Lease]) -> list[None]:
        """Make leased data keys durable together."""
        keys = [(lease, key_id, wrapped) for lease in leases for key_id, wrapped in lease.wrapped.items()]
        async with self._database.connection() as connection:
            await connection.execute(
                "insert into vault.data_key (tenant_id, subject_id, generation, key_id, wrapped)"
                " select * from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::uuid[], $5::bytea[])",
                [lease.scope.tenant_id for lease, _, _ in keys],
                [lease.scope.subject_id for lease, _, _ in keys],
                [lease.generation for lease, _, _ in keys],
                [key_id for _, key_id, _ in keys],
                [wrapped for _, _, wrapped in keys],
            )
        return [None] * len(leases)

    async def _is_gone(self, scope: Scope) -> bool:
        async with self._database.connection() as connection:
            found: bool = await connection.fetchval(
                "select exists (select from vault.gone where tenant_id = $1 and subject_id = any($2::uuid[]))",
                scope.tenant_id,
                [scope.subject_id, _TENANT_ITSELF],
            )
        return found

    async def _read_tenant(self, tenant: TenantId) -> list[Row | None]:
        async with self._database.connection() as connection:
            row = await connection.fetchrow(
                "select tenant_id, generation, epoch_id, wrapped as tenant_wrapped, lookup as tenant_lookup"
                " from vault.tenant where tenant_id = $1 order by generation desc limit 1",
                tenant,
            )
        return [row]

    async def _create_person(self, scope: Scope) -> None:
        """Make a person's first keys; does nothing where a roll has just replaced the tenant's key."""
        row, tenant_key = await self._open_tenant(scope.tenant_id, "tenant_wrapped", KEY)
        async with self._database.connection() as connection:
            with suppress(asyncpg.ForeignKeyViolationError):
                await connection.execute(
                    "insert into vault.person"
                    " (tenant_id, subject_id, generation, tenant_generation, wrapped, lookup, since)"
                    " select $1, $2, 1, $3, $4, $5, (select since from vault.alias where internal = $2)"
                    " where not exists (select from vault.gone where tenant_id = $1 and subject_id = $2)"
                    " on conflict do nothing",
                    scope.tenant_id,
                    scope.subject_id,
                    row["generation"],
                    encrypt(tenant_key, os.urandom(32), scope.subject_id.bytes + KEY),
                    encrypt(tenant_key, os.urandom(32), scope.subject_id.bytes + LOOKUP),
                )
