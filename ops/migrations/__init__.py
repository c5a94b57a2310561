"""Schema migrations of the two clusters, run by the owner before anything else.

An SQL file that a released migration names never changes again; what comes later comes in a new file and migration.
"""

from importlib.resources import files
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.util import await_only

_LOCK = "select pg_advisory_xact_lock(hashtext('cenotaph.migrations'))"


def execute(connection: Connection, sql: str) -> None:
    """Run a script of several statements inside the migration's transaction."""
    connection.exec_driver_sql("select 1")  # makes the driver open its transaction
    await_only(connection.connection.driver_connection.execute(sql))  # type: ignore[union-attr]


async def migrate(url: str, cluster: str) -> None:
    """Bring one cluster to the newest schema; several processes may do it at once.

    Args:
        url: where the cluster is, with the rights of the owner.
        cluster: `log` or `vault`.
    """
    engine = create_async_engine(make_url(url).set(drivername="postgresql+asyncpg"))
    try:
        async with engine.begin() as connection:
            await connection.exec_driver_sql(_LOCK)
            await connection.run_sync(_upgrade, cluster)
    finally:
        await engine.dispose()


def _upgrade(connection: Connection, cluster: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(str(files("ops.migrations"))) / cluster).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
