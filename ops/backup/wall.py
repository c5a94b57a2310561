"""The wall around a log that is being restored: until it is whole, the database lets in nobody but its owner (R44).

The right to connect is its own state, so whatever is killed in between, the wall stands until a restore has ended.
"""

from typing import Final

from events.errors import CenotaphError
from events.postgres import Connection
from ops.logins import roles_of

_ROLES: Final = ", ".join(roles_of("log"))
_MADE = "select count(*) from pg_roles where rolname = any($1::text[])"
_ENTERING = "select bool_or(has_database_privilege(rolname, current_database(), 'connect')) from pg_roles \
where rolname = any($1::text[])"
_INSIDE = "select count(*) from pg_stat_activity where datname = current_database() and usename = any($1::text[])"
_CHANGE = "do $$ begin execute format('{verb} connect on database %I {to} {whom}', current_database()); end $$"


async def stands(connection: Connection) -> bool:
    """Say whether there is a wall: the roles of the parts exist, and none may connect."""
    roles = list(roles_of("log"))
    if await connection.fetchval(_MADE, roles) < len(roles):
        return False
    return not await connection.fetchval(_ENTERING, roles)


async def raise_wall(connection: Connection) -> None:
    """Let nobody in but the owner.

    Raises:
        CenotaphError: somebody is inside.
    """
    await connection.execute(_CHANGE.format(verb="revoke", to="from", whom=f"public, {_ROLES}"))
    if inside := await connection.fetchval(_INSIDE, list(roles_of("log"))):
        await take_down(connection)
        raise CenotaphError(f"{inside} connections use this log; stop every part of cenotaph that runs on it first")


async def take_down(connection: Connection) -> None:
    """Let the roles of the parts in again."""
    await connection.execute(_CHANGE.format(verb="grant", to="to", whom=_ROLES))


async def require_none(connection: Connection) -> None:
    """See that no restore is unfinished.

    Raises:
        CenotaphError: one is.
    """
    if await stands(connection):
        raise CenotaphError("a restore into this log has not ended: run the same `cenotaph restore` again")
