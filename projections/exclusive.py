"""One at a time: a read model is rebuilt or compared, never both, and by one process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from events.errors import CenotaphError
from events.postgres import Database

_ARGUMENTS = "(hashtext('cenotaph.read_model'), hashtext($1))"


@asynccontextmanager
async def exclusive(database: Database, name: str) -> AsyncIterator[None]:
    """Hold a read model for the length of a block; a process that dies lets go of it.

    Raises:
        CenotaphError: another process holds it.
    """
    async with database.connection() as connection:
        if not await connection.fetchval(f"select pg_try_advisory_lock{_ARGUMENTS}", name):
            raise CenotaphError(
                f"read model {name} is being rebuilt or compared by another process; try again when that has ended"
            )
        try:
            yield
        finally:
            await connection.execute(f"select pg_advisory_unlock{_ARGUMENTS}", name)
