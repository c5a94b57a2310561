"""Stores of their own for tests that read a whole log, or spoil it: another database in the cluster of the run."""

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy.engine import make_url

from events.postgres import Database
from ops.migrations import migrate
from tests.conftest import Stores


@pytest.fixture
async def apart(stores: Stores) -> AsyncIterator[Stores]:
    """Give an empty log with empty read models, over the vault and the servers of the run."""
    name = f"apart_{uuid4().hex}"
    async with stores.owner.connection() as connection:
        await connection.execute(f"create database {name}")
    url = make_url(stores.endpoints.database_url).set(database=name).render_as_string(hide_password=False)
    await migrate(url, "log")
    owner = Database(url, None)
    own = replace(
        stores,
        endpoints=replace(stores.endpoints, database_url=url),
        owner=owner,
        appender=Database(url, "cenotaph_appender"),
        sealer=Database(url, "cenotaph_sealer"),
        projector=Database(url, "cenotaph_projector"),
        reader=Database(url, "cenotaph_reader"),
    )
    async with owner.connection() as connection:
        await connection.execute("update read_model.checkpoint set place = $1 where name = 'vectors'", name)
    yield own
    for pool in (own.owner, own.appender, own.sealer, own.projector, own.reader):
        await pool.close()
    async with stores.owner.connection() as connection:
        await connection.execute(f"drop database {name} with (force)")
