"""What a pool of connections does when its Postgres goes away and comes back."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from events.postgres import Database
from ops.embedded import POSTGRES_LOG, Embedded
from ops.settings import load_settings

SLOTS = 4


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """Run a cluster of our own, which may be killed."""
    with Embedded(load_settings(data=tmp_path_factory.mktemp("outage")), frozenset({POSTGRES_LOG})) as embedded:
        yield embedded


async def kill(postgres: Embedded) -> None:
    """End the server and all its backends as a crash would, and wait until it is gone."""
    os.kill(postgres.processes()[POSTGRES_LOG], signal.SIGQUIT)
    while not postgres.dead():  # noqa: ASYNC110 - another process rings no bell
        await asyncio.sleep(0.02)


async def fill(database: Database, slots: int = SLOTS) -> None:
    """Ask over so many connections at once."""
    together = asyncio.Barrier(slots)

    async def ask() -> None:
        async with database.connection() as connection:
            await together.wait()
            assert await connection.fetchval("select 1") == 1

    await asyncio.gather(*(ask() for _ in range(slots)))


async def test_the_first_request_after_a_restart_succeeds_on_every_connection(postgres: Embedded) -> None:
    """Connections that died idle are replaced before anybody gets one."""
    database = Database(postgres.endpoints.database_url, None, size=SLOTS)
    try:
        await fill(database)
        await kill(postgres)
        postgres.revive(POSTGRES_LOG)
        for _ in range(SLOTS):
            await fill(database, 1)
        await fill(database)
    finally:
        await database.close()
