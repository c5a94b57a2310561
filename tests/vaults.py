"""A vault on a server of its own, people in it, and somebody who tries every key on every copy."""

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from events.envelope import DataKey, decrypt
from events.errors import TamperError
from events.keyring import KEY, LOOKUP
from events.model import KeyId, Scope, SubjectId, TenantId
from events.postgres import Database, Row
from events.provider import FileProvider, Provider
from events.roll import Roller
from events.vault import Vault
from ops.embedded import Embedded
from ops.embedded.supervisor import POSTGRES_VAULT
from ops.migrations import migrate
from ops.settings import load_settings

TABLES = ("tenant", "person", "data_key")


@dataclass(frozen=True)
class Keys:
    """The vault under each role, and what rolls it."""

    url: str
    folder: Path
    provider: Provider
    owner: Database
    keeper: Database
    eraser: Database
    roller_pool: Database

    @property
    def vault(self) -> Vault:
        """The vault as the write path holds it."""
        return Vault(self.keeper, self.provider)

    @property
    def erasing(self) -> Vault:
        """The vault as the eraser holds it."""
        return Vault(self.eraser, self.provider)

    @property
    def roller(self) -> Roller:
        """What rolls it."""
        return Roller(self.roller_pool, self.provider)

    async def person(self, tenant: TenantId | None = None) -> Scope:
        """Make a person, in a tenant of its own where none is named."""
        return Scope(tenant_id=tenant or await self.vault.create_tenant(), subject_id=SubjectId(uuid4()))

    async def lease(self, scope: Scope, count: int) -> list[DataKey]:
        """Lease data keys as one request does."""
        return await (await self.vault.keyring(scope)).lease(count)

    async def opens(self, scope: Scope, keys: Iterable[DataKey]) -> bool:
        """Say whether the vault opens exactly these keys, each to its secret."""
        wanted = {key.key_id: key.secret for key in keys}
        return await (await self.vault.keyring(scope)).load(wanted) == wanted

    async def destroy(self, scope: Scope, *keys: DataKey) -> None:
        """Forget."""
        assert await self.erasing.destroy(scope, [key.key_id for key in keys]) == len(keys)

    async def rows(self, table: str) -> list[Row]:
        """Read a table of the vault."""
        async with self.owner.connection() as connection:
            return await connection.fetch(f"select * from vault.{table}")  # noqa: S608 - names of ours

    async def close(self) -> None:
        """Close the pools."""
        for pool in (self.owner, self.keeper, self.eraser, self.roller_pool):
            await pool.close()


def keys_at(url: str, folder: Path, provider: Provider | None = None) -> Keys:
    """Open pools to a vault."""
    return Keys(
        url,
        folder,
        provider or FileProvider(folder),
        Database(url, None),
        Database(url, "vault_keeper"),
        Database(url, "vault_eraser"),
        Database(url, "vault_roller"),
    )


@contextmanager
def served(data: Path) -> Iterator[str]:
    """Run the vault's server on a data directory."""
    with Embedded(load_settings(data=data), frozenset({POSTGRES_VAULT})) as embedded:
        yield embedded.endpoints.vault_url


@asynccontextmanager
async def vaulted(data: Path, provider: Provider | None = None) -> AsyncIterator[Keys]:
    """Run a vault on a data directory, its provider's folder beside it."""
    with served(data) as url:
        await migrate(url, "vault")
        keys = keys_at(url, data / "keys", provider)
        try:
            yield keys
        finally:
            await keys.close()


def loot(copy: dict[str, list[Row]], secrets: Iterable[bytes]) -> dict[UUID, bytes]:
    """Try every secret on everything wrapped in a copy, and what opens on the rest, until nothing more opens.

    Returns:
        The data keys that came out, by id.
    """
    found: dict[UUID, bytes] = {}
    known, fresh = set(secrets), set(secrets)
    wrapped = [
        (row[column], row[name].bytes + use, None)
        for table, name in (("tenant", "tenant_id"), ("person", "subject_id"))
        for row in copy[table]
        for column, use in (("wrapped", KEY), ("lookup", LOOKUP))
    ] + [(row["wrapped"], row["key_id"].bytes, row["key_id"]) for row in copy["data_key"]]
    while fresh:
        opened = set()
        for secret in fresh:
            for content, bound, key_id in wrapped:
                try:
                    inner = decrypt(secret, content, bound)
                except TamperError:
                    continue
                opened.add(inner)
                if key_id is not None:
                    found[key_id] = inner
        fresh = opened - known
        known |= fresh
    return found


async def table_copy(keys: Keys) -> dict[str, list[Row]]:
    """Read everything that is wrapped."""
    return {table: await keys.rows(table) for table in TABLES}


async def living(keys: Keys) -> set[bytes]:
    """Collect every secret that can be had today: the provider's, and all that they open in the living vault."""
    copy = await table_copy(keys)
    secrets = {path.read_bytes() for path in keys.folder.glob("epoch-*.key")}
    inner: set[bytes] = set()
    for table, name in (("tenant", "tenant_id"), ("person", "subject_id")):
        for row in copy[table]:
            for column, use in (("wrapped", KEY), ("lookup", LOOKUP)):
                for secret in secrets | inner:
                    try:
                        inner.add(decrypt(secret, row[column], row[name].bytes + use))
                    except TamperError:
                        continue
    return secrets | inner | set(loot(copy, secrets).values())


def ids(keys: Iterable[DataKey]) -> set[KeyId]:
    """Return the ids of keys."""
    return {key.key_id for key in keys}
