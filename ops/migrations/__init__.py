"""Schema migrations of the two clusters, run by the owner (`cenotaph migrate`, `cenotaph up`) before anything else.

The parts, which log in under roles of their own, only look whether that was done.

An SQL file that a released migration names never changes again; what comes later comes in a new file and migration.
"""

from importlib.resources import files
from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.util import await_only

from events.errors import CenotaphError, LoginError, UnavailableError
from events.postgres import Database, refused
from ops.logins import make_password, roles_of, verifier

_LOCK = "select pg_advisory_xact_lock(hashtext('cenotaph.migrations'))"


def execute(connection: Connection, sql: str) -> None:
    """Run a script of several statements inside the migration's transaction."""
    connection.exec_driver_sql("select 1")  # makes the driver open its transaction
    await_only(connection.connection.driver_connection.execute(sql))  # type: ignore[union-attr]


async def migrate(url: str, cluster: str, logins: Path | None = None) -> None:
    """Bring one cluster to the newest schema; several processes may do it at once.

    Args:
        url: where the cluster is, with the rights of the owner.
        cluster: `log` or `vault`.
        logins: the folder of the roles' passwords, made and set here; None where the server asks for none.

    Raises:
        UnavailableError: the cluster does not answer, or refuses the login.
    """
    engine = create_async_engine(make_url(url).set(drivername="postgresql+asyncpg"))
    try:
        async with engine.begin() as connection:
            await connection.exec_driver_sql(_LOCK)
            await connection.run_sync(_upgrade, cluster)
            await connection.exec_driver_sql("grant select on alembic_version to public")
            if logins is not None:
                for role in roles_of(cluster):
                    secret = verifier(make_password(logins, role))
                    await connection.exec_driver_sql(f"alter role {role} password '{secret}'")
    except DBAPIError as error:
        if refused(error):
            raise LoginError(None) from error
        raise
    except OSError as error:
        raise UnavailableError(f"the cluster of the {cluster} does not answer; check its URL") from error
    finally:
        await engine.dispose()


async def check(database: Database, cluster: str) -> None:
    """See whether a cluster has the schema this build needs; a newer one serves too, its functions are versioned.

    Raises:
        CenotaphError: it has not; says what to run.
        UnavailableError: the cluster does not answer, or refuses the login.
    """
    try:
        async with database.connection() as connection:
            found = await connection.fetchval("select version_num from alembic_version")
    except asyncpg.UndefinedTableError:
        found = None
    scripts = ScriptDirectory.from_config(_config(cluster))
    known = {script.revision for script in scripts.walk_revisions()}
    if found is None or (found in known and found != scripts.get_current_head()):
        raise CenotaphError(f"the {cluster} has an older schema than this build; run `cenotaph migrate` as its owner")


def _upgrade(connection: Connection, cluster: str) -> None:
    config = _config(cluster)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config(cluster: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(str(files("ops.migrations"))) / cluster).replace("%", "%%"))
    return config
