"""Giving back the bytes of what was removed: tables are vacuumed, partitions of the vector index written anew (R42).

Each notes up to which moment what was removed is out of its files; `services/forgetting/purge.py` reads that.
"""

from datetime import datetime
from typing import ClassVar, Protocol

from events.errors import CenotaphError
from events.model import Scope
from events.postgres import Connection, Database
from events.vault import Vault
from projections.exclusive import exclusive
from projections.vector_index import VectorIndex, vector_places

_VACUUM_S = 3600.0
# whatever has rows of a tenant; nothing is ever removed from the events themselves
_TABLES = """
select n.nspname || '.' || c.relname as name,
       has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'maintain') as may
from pg_class c join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
where c.relkind = 'r' and not (n.nspname = 'log' and c.relname = 'event') order by 1
"""
_PEOPLE = "select tenant_id, subject_id from ops.purge_wanted_people_v1($1)"
_WAITING = "select ops.purge_wanted_v1()"
_NOTE = """
insert into ops.reclaimed (layer, covered) values ($1, $2)
on conflict (layer) do update set covered = greatest(ops.reclaimed.covered, excluded.covered), at = clock_timestamp()
"""


class Reclaimer(Protocol):
    """Something whose files keep the bytes of what was removed until they are rewritten."""

    @property
    def layer(self) -> str:
        """Its name."""

    async def reclaim(self) -> datetime | None:
        """Rewrite; return up to which moment what was removed is gone, None where that cannot be said yet."""


class Vacuumed:
    """The tables of the log's cluster, vacuumed: whatever no transaction can see any more leaves its pages.

    Args:
        eraser: a pool under `cenotaph_eraser`, which may maintain the tables that hold anything of a person.
    """

    layer: ClassVar[str] = "postgres"

    def __init__(self, eraser: Database) -> None:
        self._eraser = eraser

    async def reclaim(self) -> datetime | None:
        """Vacuum each; rows that a transaction from before can still see are not covered."""
        async with self._eraser.connection() as connection:
            covered: datetime | None = await connection.fetchval("select ops.oldest_transaction_v1()")
            await vacuum(connection)
        return covered


class VaultTables:
    """The tables of the vault's cluster, vacuumed likewise.

    Args:
        vault: under `vault_eraser`.
    """

    layer: ClassVar[str] = "vault"

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def reclaim(self) -> datetime | None:
        """Vacuum each."""
        return await self._vault.vacuum(vacuum)


class VectorFiles:
    """The vector index: a delete leaves the bytes in their file, so a partition is written anew beside, and dropped.

    Args:
        index: the vector index, in the one process that writes to it.
        projector: a pool under `cenotaph_projector`.
    """

    layer: ClassVar[str] = "vector_index"

    def __init__(self, index: VectorIndex, projector: Database) -> None:
        self._index = index
        self._projector = projector

    async def reclaim(self) -> datetime | None:
        """Write the partitions anew in which somebody was who waits; None while the index is rebuilt or compared."""
        try:
            async with exclusive(self._projector, self._index.name):
                async with self._projector.connection() as connection:
                    began: datetime = await connection.fetchval("select clock_timestamp()")
                    # afterwards, so that whatever was signed before is among them
                    people = await connection.fetch(_PEOPLE, await covered_of(connection, self.layer))
                    places = await vector_places(connection)
                scopes = [Scope(tenant_id=row["tenant_id"], subject_id=row["subject_id"]) for row in people]
                for place in places.values():
                    await self._index.rewrite(place, scopes)
        except CenotaphError:  # it is being rebuilt or compared just now, or does not answer
            return None
        return began


class Reclaiming:
    """Rewrites what waits for it, and notes how far that reaches.

    Args:
        database: a pool that may write `ops.reclaimed`.
        reclaimers: what is rewritten by this process.
    """

    def __init__(self, database: Database, *reclaimers: Reclaimer) -> None:
        self._database = database
        self._reclaimers = reclaimers

    async def step(self) -> int:
        """Rewrite where a deletion waits for more than is covered; return how many layers that were."""
        done = 0
        for reclaimer in self._reclaimers:
            async with self._database.connection() as connection:
                wanted: datetime | None = await connection.fetchval(_WAITING)
                covered = await covered_of(connection, reclaimer.layer)
            if wanted is None or (covered is not None and covered >= wanted):
                continue
            if (reached := await reclaimer.reclaim()) is not None:
                async with self._database.connection() as connection:
                    await connection.execute(_NOTE, reclaimer.layer, reached)
                done += 1
        return done


async def covered_of(connection: Connection, layer: str) -> datetime | None:
    """Return up to which moment what was removed from a layer is out of its files, None if it never was rewritten."""
    moment: datetime | None = await connection.fetchval("select covered from ops.reclaimed where layer = $1", layer)
    return moment


async def vacuum(connection: Connection) -> None:
    """Vacuum every table that has rows of a tenant.

    Raises:
        CenotaphError: the role may not maintain one; nothing is covered then.
    """
    for row in await connection.fetch(_TABLES):
        if not row["may"]:
            raise CenotaphError(f"this role may not vacuum {row['name']}: grant it maintain on that table")
        await connection.execute(f"vacuum {row['name']}", timeout=_VACUUM_S)
