"""A clock of the run's own: the log of a throwaway database takes its time from a table."""

from datetime import datetime

from events.postgres import Database

_TABLE = """
create schema if not exists bench;
create table bench.clock (one boolean primary key default true check (one), at timestamptz not null);
insert into bench.clock (at) values (clock_timestamp());
grant usage on schema bench to public;
grant select on bench.clock to public;
"""
_FUNCTION = "select pg_get_functiondef('log.append_v1'::regproc)"


async def install(owner: Database) -> None:
    """Let the function that appends stamp events with the run's time; only ever in a database made for this run."""
    async with owner.connection() as connection:
        await connection.execute(_TABLE)
        written: str = await connection.fetchval(_FUNCTION)
        await connection.execute(written.replace("clock_timestamp()", "(select at from bench.clock)"))


async def turn_to(owner: Database, at: datetime) -> None:
    """Make it that moment."""
    async with owner.connection() as connection:
        await connection.execute("update bench.clock set at = $1", at)
