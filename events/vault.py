"""The vault: data key → person key → tenant key → provider epoch, and the outside ids that die with a person (R4).

A `Keyring` lives for one request and holds what it opened; nothing is cached beyond it. Data keys are durable here
before anything is sealed with them. Destroying a data key blinds every copy of the body it sealed.
"""

import hmac
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from uuid import UUID, uuid4

import asyncpg

from events.envelope import DataKey, decrypt, encrypt
from events.errors import ScopeError
from events.model import KeyId, Scope, SubjectId, TenantId
from events.postgres import Connection, Database, Row
from events.provider import Provider

_TENANT_ITSELF = UUID(int=0)

Name = tuple[str, str]
"""An outside id with its kind: `("turn", "t-17")`."""


def keyed_digest(secret: bytes, purpose: str, text: str) -> bytes:
    """HMAC-SHA256 (RFC 2104) of a text for one purpose."""
    return hmac.digest(secret, f"{purpose}\x00{text}".encode(), sha256)


class Keyring:
    """One person's keys for the length of one request."""

    def __init__(self, database: Database, scope: Scope, person_key: bytes, lookup: bytes) -> None:
        self._database = database
        self.scope = scope
        self._person_key = person_key
        self._lookup = lookup

    def digest(self, purpose: str, text: str) -> bytes:
        """Digest a text so that only this person's keyring can recognise it."""
        return keyed_digest(self._lookup, purpose, text)

    def secret(self, purpose: str) -> bytes:
        """Derive a secret for keyed hashes of one purpose."""
        return keyed_digest(self._lookup, "derive", purpose)

    async def lease(self, count: int) -> list[DataKey]:
        """Make data keys; they are durable in the vault when this returns."""
        keys = [DataKey(KeyId(uuid4()), os.urandom(32)) for _ in range(count)]
        if keys:
            async with self._database.connection() as connection:
                await connection.execute(
                    "insert into vault.data_key (key_id, tenant_id, subject_id, wrapped)"
                    " select k, $1, $2, w from unnest($3::uuid[], $4::bytea[]) as t(k, w)",
                    self.scope.tenant_id,
                    self.scope.subject_id,
                    [key.key_id for key in keys],
                    [encrypt(self._person_key, key.secret, key.key_id.bytes) for key in keys],
                )
        return keys

    async def load(self, key_ids: Iterable[KeyId]) -> dict[KeyId, bytes]:
        """Open the data keys that still exist; a destroyed one is simply not in the answer."""
        wanted = list(set(key_ids))
        if not wanted:
            return {}
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select key_id, wrapped from vault.data_key where key_id = any($1::uuid[])"
                " and tenant_id = $2 and subject_id = $3",
                wanted,
                self.scope.tenant_id,
                self.scope.subject_id,
            )
        return {KeyId(row["key_id"]): decrypt(self._person_key, row["wrapped"], row["key_id"].bytes) for row in rows}

    async def intern(self, names: Sequence[Name]) -> dict[Name, UUID]:
        """Map outside ids, each of a kind, to internal ones, making those that are new."""
        return await _intern(self._database, self.scope.tenant_id, self.scope.subject_id, self._lookup, names)

    async def find(self, name: Name) -> UUID | None:
        """Map an outside id to the internal one, None if it was never seen."""
        async with self._database.connection() as connection:
            internal: UUID | None = await connection.fetchval(
                "select internal from vault.alias"
                " where tenant_id = $1 and subject_id = $2 and kind = $3 and digest = $4",
                self.scope.tenant_id,
                self.scope.subject_id,
                name[0],
                keyed_digest(self._lookup, *name),
            )
        return internal

    async def outside(self, internal: Iterable[UUID]) -> dict[UUID, str]:
        """Map internal ids back to the outside ones."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select internal, sealed from vault.alias where tenant_id = $1 and subject_id = $2"
                " and internal = any($3::uuid[])",
                self.scope.tenant_id,
                self.scope.subject_id,
                list(internal),
            )
        return {row["internal"]: decrypt(self._lookup, row["sealed"], row["internal"].bytes).decode() for row in rows}


class Vault:
    """Opens keyrings, makes tenants, destroys keys.

    Args:
        database: a pool to the vault's cluster under `vault_keeper`, `vault_opener` or `vault_eraser`.
        provider: where the epochs' secrets lie.
    """

    def __init__(self, database: Database, provider: Provider) -> None:
        self._database = database
        self._provider = provider

    async def create_tenant(self) -> TenantId:
        """Make a tenant with a key of its own under the newest epoch."""
        tenant = TenantId(uuid4())
        async with self._database.transaction() as connection:
            await connection.execute("select pg_advisory_xact_lock(hashtext('vault.epoch'))")
            epoch: UUID | None = await connection.fetchval(
                "select epoch_id from vault.epoch order by created_at desc limit 1"
            )
            if epoch is None:
                epoch = uuid4()
                secret = self._provider.create(epoch)
                await connection.execute("insert into vault.epoch (epoch_id) values ($1)", epoch)
            else:
                secret = self._provider.secret(epoch)
            await connection.execute(
                "insert into vault.tenant (tenant_id, epoch_id, wrapped, lookup) values ($1, $2, $3, $4)",
                tenant,
                epoch,
                encrypt(secret, os.urandom(32), tenant.bytes + b"key"),
                encrypt(secret, os.urandom(32), tenant.bytes + b"lookup"),
            )
        return tenant

    async def subject(self, tenant: TenantId, outside: str) -> SubjectId:
        """Map a person's outside id to the internal one, making it on first use.

        Raises:
            ScopeError: no such tenant.
        """
        async with self._database.connection() as connection:
            row = await connection.fetchrow("select epoch_id, lookup from vault.tenant where tenant_id = $1", tenant)
        if row is None:
            raise ScopeError(f"tenant {tenant} does not exist")
        lookup = decrypt(self._provider.secret(row["epoch_id"]), row["lookup"], tenant.bytes + b"lookup")
        found = await _intern(self._database, tenant, _TENANT_ITSELF, lookup, [("subject", outside)])
        return SubjectId(found["subject", outside])

    async def keyring(self, scope: Scope) -> Keyring:
        """Open one person's keyring, making the person's keys on first use.

        Raises:
            ScopeError: no such tenant, or no such person where this process may not make one.
        """
        row = await self._person(scope)
        if row is None:
            with suppress(asyncpg.InsufficientPrivilegeError):  # an opener makes nobody
                await self._create_person(scope)
            row = await self._person(scope)
        if row is None:
            raise ScopeError(f"subject {scope.subject_id} does not exist in tenant {scope.tenant_id}")
        tenant_key = self._tenant_key(scope.tenant_id, row)
        return Keyring(
            self._database,
            scope,
            decrypt(tenant_key, row["person"], scope.subject_id.bytes + b"key"),
            decrypt(tenant_key, row["lookup"], scope.subject_id.bytes + b"lookup"),
        )

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

    async def present(self, key_ids: Iterable[KeyId]) -> set[KeyId]:
        """Say which data keys still exist."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select key_id from vault.data_key where key_id = any($1::uuid[])", list(key_ids)
            )
        return {KeyId(row["key_id"]) for row in rows}

    async def _person(self, scope: Scope) -> Row | None:
        async with self._database.connection() as connection:
            return await connection.fetchrow(
                "select t.epoch_id, t.wrapped as tenant, p.wrapped as person, p.lookup from vault.person p"
                " join vault.tenant t using (tenant_id) where p.tenant_id = $1 and p.subject_id = $2",
                scope.tenant_id,
                scope.subject_id,
            )

    async def _create_person(self, scope: Scope) -> None:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(
                "select epoch_id, wrapped as tenant from vault.tenant where tenant_id = $1", scope.tenant_id
            )
            if row is None:
                raise ScopeError(f"tenant {scope.tenant_id} does not exist")
            tenant_key = self._tenant_key(scope.tenant_id, row)
            await connection.execute(
                "insert into vault.person (tenant_id, subject_id, wrapped, lookup) values ($1, $2, $3, $4)"
                " on conflict do nothing",
                scope.tenant_id,
                scope.subject_id,
                encrypt(tenant_key, os.urandom(32), scope.subject_id.bytes + b"key"),
                encrypt(tenant_key, os.urandom(32), scope.subject_id.bytes + b"lookup"),
            )

    def _tenant_key(self, tenant: TenantId, row: Row) -> bytes:
        return decrypt(self._provider.secret(row["epoch_id"]), row["tenant"], tenant.bytes + b"key")


async def _intern(
    database: Database, tenant: TenantId, subject: UUID, lookup: bytes, names: Sequence[Name]
) -> dict[Name, UUID]:
    digests = {name: keyed_digest(lookup, *name) for name in dict.fromkeys(names)}
    async with database.connection() as connection:
        known = await _aliases(connection, tenant, subject, digests)
        fresh = {name: uuid4() for name in digests if name not in known}
        if fresh:
            await connection.execute(
                "insert into vault.alias (tenant_id, subject_id, kind, digest, internal, sealed)"
                " select $1, $2, k, d, i, s from unnest($3::text[], $4::bytea[], $5::uuid[], $6::bytea[])"
                " as t(k, d, i, s) on conflict do nothing",
                tenant,
                subject,
                [kind for kind, _ in fresh],
                [digests[name] for name in fresh],
                list(fresh.values()),
                [encrypt(lookup, outside.encode(), fresh[kind, outside].bytes) for kind, outside in fresh],
            )
            known = await _aliases(connection, tenant, subject, digests)
    return known


async def _aliases(
    connection: Connection, tenant: TenantId, subject: UUID, digests: dict[Name, bytes]
) -> dict[Name, UUID]:
    rows = await connection.fetch(
        "select a.kind, a.digest, a.internal from unnest($3::text[], $4::bytea[]) as t(kind, digest)"
        " join vault.alias a on a.tenant_id = $1 and a.subject_id = $2 and a.kind = t.kind and a.digest = t.digest",
        tenant,
        subject,
        [kind for kind, _ in digests],
        list(digests.values()),
    )
    found = {(row["kind"], row["digest"]): row["internal"] for row in rows}
    return {name: found[place] for name, digest in digests.items() if (place := (name[0], digest)) in found}
