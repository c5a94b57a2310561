"""The callers' API keys in Postgres."""

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
            row = await connection.fetchrow("select key_id, tenant_id, hash from ops.api_key where key_id = $1", key_id)
        if row is None:
            return None
        return StoredKey(key_id=row["key_id"], tenant_id=TenantId(row["tenant_id"]), digest=row["hash"])

    async def create(self, tenant: TenantId) -> str:
        """Make a key for a tenant; return the text to show once."""
        text, stored = mint_key(tenant)
        async with self._database.connection() as connection:
            await connection.execute(
                "insert into ops.api_key (key_id, tenant_id, hash) values ($1, $2, $3)",
                stored.key_id,
                stored.tenant_id,
                stored.digest,
            )
        return text
