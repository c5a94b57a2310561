"""The callers' API keys in Postgres."""

from collections.abc import Mapping

from events.errors import BadInputError
from events.model import TenantId
from events.postgres import Database
from services.access.keys import StoredKey, mint_key


class ApiKeys:
    """Finds keys by id, and adds new ones under the owner's role."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, key_id: str) -> StoredKey | None:
        """Return the key of that id."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(
                "select key_id, tenant_id, hash, system, owns from ops.api_key where key_id = $1", key_id
            )
        if row is None:
            return None
        return StoredKey(
            key_id=row["key_id"],
            tenant_id=TenantId(row["tenant_id"]),
            digest=row["hash"],
            system=row["system"],
            owns=frozenset(row["owns"]),
        )

    async def owners(self, tenant_id: TenantId) -> Mapping[str, str]:
        """Return which business system owns which semantic key of a tenant."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select system, unnest(owns) as key from ops.api_key where tenant_id = $1 and system is not null",
                tenant_id,
            )
        return {row["key"]: row["system"] for row in rows}

    async def create(self, tenant: TenantId) -> str:
        """Make a key for a tenant; return the text to show once."""
        return await self._add(*mint_key(tenant))

    async def register(self, tenant: TenantId, system: str, owns: frozenset[str]) -> str:
        """Register a business system as the owner of semantic keys; return its key, which replaces any it had.

        Raises:
            BadInputError: another system owns one of them.
        """
        taken = {key: owner for key, owner in (await self.owners(tenant)).items() if key in owns and owner != system}
        if taken:
            raise BadInputError(f"{', '.join(sorted(taken))}: owned by {', '.join(sorted(set(taken.values())))}")
        return await self._add(*mint_key(tenant, system, owns))

    async def _add(self, text: str, stored: StoredKey) -> str:
        async with self._database.transaction() as connection:
            await connection.execute(
                "delete from ops.api_key where tenant_id = $1 and system = $2", stored.tenant_id, stored.system
            )
            await connection.execute(
                "insert into ops.api_key (key_id, tenant_id, hash, system, owns) values ($1, $2, $3, $4, $5)",
                stored.key_id,
                stored.tenant_id,
                stored.digest,
                stored.system,
                sorted(stored.owns),
            )
        return text
