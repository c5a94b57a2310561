"""Where a benchmark writes: databases of its own, on embedded clusters or on given ones, never in a live log."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from sqlalchemy.engine import make_url

from events.postgres import Connection, Database
from ops.embedded import POSTGRES_LOG, POSTGRES_VAULT, Embedded
from ops.logins import password_of
from ops.migrations import migrate
from ops.settings import load_settings

_DURABILITY = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method")
_MUST_BE_ON = ("fsync", "synchronous_commit", "full_page_writes")


@dataclass(frozen=True)
class Clusters:
    """The two clusters of a run, by databases that nothing is written to, and folders of keys and passwords."""

    log_url: str = field(repr=False)
    vault_url: str = field(repr=False)
    keys: Path
    logins: Path | None


@contextmanager
def clusters() -> Iterator[Clusters]:
    """Run the clusters that DATABASE_URL and VAULT_URL do not name on a temporary folder.

    Raises:
        EmbeddedError: a server does not start.
    """
    with tempfile.TemporaryDirectory(prefix="cenotaph-bench-") as folder:
        settings = load_settings(data=Path(folder) / "data", redis_url=None, milvus_uri=None)
        with Embedded(settings, frozenset({POSTGRES_LOG, POSTGRES_VAULT})) as embedded:
            yield Clusters(
                embedded.endpoints.database_url, embedded.endpoints.vault_url, Path(folder) / "keys", settings.logins
            )


class Places:
    """Databases made for one run and dropped at its end."""

    def __init__(self, clusters: Clusters) -> None:
        self.clusters = clusters
        self._run = uuid4().hex[:8]
        self._made: list[tuple[str, str]] = []

    async def bare(self, name: str) -> str:
        """Make an empty database on the log's cluster; return its address."""
        return await self._make(self.clusters.log_url, name)

    async def log(self, name: str) -> str:
        """Make a database with an empty log."""
        url = await self._make(self.clusters.log_url, name)
        await migrate(url, "log")
        return url

    async def vault(self, name: str) -> str:
        """Make a database with an empty vault on the vault's cluster."""
        url = await self._make(self.clusters.vault_url, name)
        await migrate(url, "vault")
        return url

    def pool(self, url: str, role: str) -> Database:
        """Open a pool to one of the databases under a role."""
        return Database(url, role, password=password_of(self.clusters.logins, role))

    async def drop(self) -> None:
        """Drop what was made."""
        while self._made:
            url, name = self._made.pop()
            async with _owner(url) as connection:
                await connection.execute(f'drop database if exists "{name}" with (force)')

    async def _make(self, url: str, name: str) -> str:
        database = f"cenotaph_bench_{self._run}_{name}"
        async with _owner(url) as connection:
            await connection.execute(f'create database "{database}"')
        self._made.append((url, database))
        return make_url(url).set(database=database).render_as_string(hide_password=False)


@asynccontextmanager
async def places() -> AsyncIterator[Places]:
    """Hold places on clusters for the length of a block."""
    with clusters() as found:
        made = Places(found)
        try:
            yield made
        finally:
            await made.drop()


@asynccontextmanager
async def _owner(url: str) -> AsyncIterator[Connection]:
    database = Database(url, None, 1)
    try:
        async with database.connection() as connection:
            yield connection
    finally:
        await database.close()


async def durability(url: str) -> dict[str, str]:
    """Say what a cluster itself says about flushing."""
    async with _owner(url) as connection:
        return {name: await connection.fetchval("select current_setting($1)", name) for name in _DURABILITY}


def weaknesses(settings: dict[str, str]) -> list[str]:
    """Name the settings under which an acknowledged commit may be lost; a run with any of them is invalid."""
    return [f"{name} is {settings[name]}" for name in _MUST_BE_ON if settings[name] == "off"]
