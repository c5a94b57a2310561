"""The connections of a process: pools, vault, vector index, queue, models."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import time, timedelta
from functools import cached_property

import redis.asyncio as redis
from redis.exceptions import RedisError

from events.errors import UnavailableError
from events.leases import AHEAD
from events.log import EventLog
from events.origins import own
from events.place import Folder, Place
from events.postgres import Database
from events.provider import FileProvider
from events.roll import Roller
from events.schedule import Schedule
from events.vault import Vault
from ops.backup import wall
from ops.embedded import Endpoints
from ops.logins import logins_of, password_of
from ops.migrations import check, migrate
from ops.settings import Settings
from projections.embedding import Embedder
from projections.milvus import Milvus
from projections.models import Models
from services.extraction.extractor import Extractor
from services.governance.judge import GATES, Gate
from workers.jobs import Jobs

Closer = Callable[[], Awaitable[None]]
_SIGN_S = 2.0
_PLACED = {"seal": "sealer", "erase": "eraser"}  # the parts that write to the second place, and how they log in


@dataclass
class Stores:
    """Builds parts on first use and closes what it built.

    Args:
        settings: what the operator set.
        endpoints: where the stores are.
        gates: the gates of the judge; fewer only where it is measured what one is worth.
        extractor: what reads the turns, where it is not what the settings say.
    """

    settings: Settings
    endpoints: Endpoints
    gates: Sequence[Gate] = GATES
    extractor: Extractor | None = None
    _pools: dict[tuple[str, str | None], Database] = field(default_factory=dict)
    _vaults: dict[str, Vault] = field(default_factory=dict)
    _closers: list[Closer] = field(default_factory=list)

    async def migrate(self) -> None:
        """Bring both clusters to the newest schema; takes their owners."""
        await migrate(self.endpoints.database_url, "log", self.settings.logins)
        await migrate(self.endpoints.vault_url, "vault", self.settings.logins)

    async def require_whole(self) -> None:
        """See that no restore into the log is unfinished; takes its owner.

        Raises:
            CenotaphError: one is.
        """
        async with self.log(None).connection() as connection:
            await wall.require_none(connection)

    async def require_own_place(self, role: str | None) -> None:
        """See that the second place is that of this log, before anything is written to it.

        Raises:
            CenotaphError: it is not.
        """
        async with self.log(role).connection() as connection:
            await own(connection, self.second_place)

    async def check(self, parts: Collection[str]) -> None:
        """See whether both clusters have the schema that these parts need, as far as they may log in.

        Raises:
            CenotaphError: one has not, or lets them not in, or the second place is another log's; says what to do.
        """
        held = logins_of(parts)
        for role in held.log:
            await check(self.log(role), "log")
        for role in held.vault:
            await check(self._pool(self.endpoints.vault_url, f"vault_{role}"), "vault")
        for part in parts:
            if part in _PLACED:
                await self.require_own_place(_PLACED[part])

    async def close(self) -> None:
        """Close everything that was built, newest first."""
        while self._closers:
            await self._closers.pop()()

    def log(self, role: str | None) -> Database:
        """Return the pool of the log's cluster that logs in as a role, `cenotaph_` left out; None for the owner."""
        return self._pool(self.endpoints.database_url, role and f"cenotaph_{role}")

    def vault(self, role: str) -> Vault:
        """Return the vault under a role, `vault_` left out; one for all, so that their requests share statements."""
        if role not in self._vaults:
            pool = self._pool(self.endpoints.vault_url, f"vault_{role}")
            ahead = 0 if role == "eraser" else AHEAD  # who forgets leaves no key behind
            self._vaults[role] = Vault(pool, FileProvider(self.settings.keys), ahead)
        return self._vaults[role]

    @property
    def roller(self) -> Roller:
        """What rolls the vault's keys."""
        return Roller(self._pool(self.endpoints.vault_url, "vault_roller"), FileProvider(self.settings.keys))

    @property
    def schedule(self) -> Schedule:
        """When they roll."""
        settings = self.settings
        return Schedule(
            time.fromisoformat(settings.key_roll_at),
            timedelta(hours=settings.key_roll_every_h),
            timedelta(days=settings.key_copies_days),
        )

    @property
    def second_place(self) -> Place:
        """Where lies what must not depend on the database."""
        return Folder(self.settings.second_place)

    def _pool(self, url: str, role: str | None) -> Database:
        if (url, role) not in self._pools:
            pool = Database(url, role, password=role and password_of(self.settings.logins, role))
            self._pools[url, role] = pool
            self._closers.append(pool.close)
        return self._pools[url, role]

    @property
    def _vault_owner(self) -> Database:
        return self._pool(self.endpoints.vault_url, None)

    @cached_property
    def events(self) -> EventLog:
        """The log's write path."""
        log = EventLog(self.log("appender"))
        self._closers.append(log.close)
        return log

    @cached_property
    def milvus(self) -> Milvus:
        """The connection to the vector index."""
        milvus = Milvus(self.endpoints.milvus_uri, answer_s=self.settings.vectors_within_ms / 1000)
        self._closers.append(milvus.close)
        return milvus

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model."""
        embedder = Embedder()

        async def close() -> None:
            embedder.close()

        self._closers.append(close)
        return embedder

    @cached_property
    def models(self) -> Models:
        """Every embedding model of this build, loaded when it is asked."""
        models = Models(lambda: self.embedder)

        async def close() -> None:
            models.close()

        self._closers.append(close)
        return models

    @cached_property
    def jobs(self) -> Jobs:
        """Where jobs are queued."""
        jobs = Jobs(self.endpoints.redis_url)
        self._closers.append(jobs.close)
        return jobs

    @property
    def signs(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """How to ask each store for a sign of life."""
        return {
            "log": self._sign_of_log,
            "vault": self._sign_of_vault,
            "redis": self._sign_of_redis,
            "vectors": self._sign_of_vectors,
        }

    async def _sign_of_log(self) -> None:
        async with self.log("reader").connection() as connection:
            await connection.fetchval("select 1")

    async def _sign_of_vault(self) -> None:
        async with self._pool(self.endpoints.vault_url, "vault_keeper").connection() as connection:
            await connection.fetchval("select 1")

    async def _sign_of_redis(self) -> None:
        client = redis.from_url(self.endpoints.redis_url)
        try:
            await client.ping()
        except RedisError as error:
            raise UnavailableError("redis does not answer") from error
        finally:
            await client.aclose()

    async def _sign_of_vectors(self) -> None:
        await self.milvus.read(lambda: self.milvus.call("", lambda client: client.list_collections(timeout=_SIGN_S)))
