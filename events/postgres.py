"""Postgres under one role: raw asyncpg connections through SQLAlchemy's pool.

A statement through SQLAlchemy costs about a millisecond of its own, its `Connection` 50 µs; the pool alone costs almost
nothing, so the driver's connection is taken out of the pool itself. Every connection logs in as one role, so that no
statement can make it another and a process can do only what it was given.
"""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, Protocol, cast
from uuid import UUID

import asyncpg
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import create_async_engine

from events.errors import LoginError, UnavailableError
from events.model import Scope

Row = Mapping[str, Any]

_ANSWER_S = 20.0
_ANY = UUID(int=0)
_NONE = UUID(int=2**128 - 1)
_BOUNDS = ("tenant", "subject", "project", "task", "assistant", "purpose")
_DOWN = "the database does not answer; try again"
_GONE = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    OSError,
)


class Connection(Protocol):
    """What we use of an asyncpg connection."""

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str: ...  # noqa: ANN401, ASYNC109, D102 - asyncpg's own signature

    async def fetch(self, query: str, *args: Any) -> list[Row]: ...  # noqa: ANN401, D102 - asyncpg's own signature

    async def fetchrow(self, query: str, *args: Any) -> Row | None: ...  # noqa: ANN401, D102 - asyncpg's own signature

    async def fetchval(self, query: str, *args: Any, timeout: float | None = None) -> Any: ...  # noqa: ANN401, ASYNC109, D102 - asyncpg's own signature

    def is_closed(self) -> bool: ...  # noqa: D102 - asyncpg's own signature

    def is_in_transaction(self) -> bool: ...  # noqa: D102 - asyncpg's own signature

    def transaction(self, *, isolation: str | None = None, readonly: bool = False) -> Any: ...  # noqa: ANN401, D102 - asyncpg's own signature

    def cursor(self, query: str, *args: Any, prefetch: int | None = None) -> AsyncIterable[Row]: ...  # noqa: ANN401, D102 - asyncpg's own signature

    async def copy_from_query(  # noqa: D102 - asyncpg's own signature
        self,
        query: str,
        *,
        output: Callable[[bytes], Awaitable[None]],
        format: str,  # noqa: A002 - as above
    ) -> str: ...

    async def copy_to_table(  # noqa: D102 - asyncpg's own signature
        self,
        table_name: str,
        *,
        source: AsyncIterable[bytes],
        columns: Sequence[str],
        schema_name: str,
        format: str,  # noqa: A002 - as above
    ) -> str: ...

    async def copy_records_to_table(  # noqa: D102 - asyncpg's own signature
        self, table_name: str, *, records: Iterable[tuple[object, ...]], columns: Sequence[str], schema_name: str
    ) -> str: ...


class Database:
    """A pool of connections to one cluster under one role.

    Args:
        url: `postgresql://…`; a unix socket as `?host=/folder`.
        role: the role that logs in (`cenotaph_reader`, …), or None for the user of the URL.
        size: the most connections held at once.
        password: of the role, where the server asks for one.
        answer_s: how long a role waits for the answer to a statement, for servers that hang; the owner's may take long.

    Attributes:
        url: with the login; may hold its password.
    """

    def __init__(
        self, url: str, role: str | None, size: int = 8, password: str | None = None, answer_s: float = _ANSWER_S
    ) -> None:
        login = make_url(url)
        if role is not None:
            # put together anew: `set` would keep the password of the URL's own user where the role has none
            login = URL.create("postgresql", role, password, login.host, login.port, login.database, login.query)
        self.url = login.render_as_string(hide_password=False)
        self.role = role
        settings = {"application_name": role or "cenotaph"}
        self._engine = create_async_engine(
            login.set(drivername="postgresql+asyncpg"),
            pool_size=size,
            max_overflow=0,
            pool_pre_ping=False,
            pool_timeout=answer_s,
            isolation_level="AUTOCOMMIT",
            connect_args={
                "server_settings": settings,
                "timeout": answer_s,
                "command_timeout": None if role is None else answer_s,
            },
        )

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Borrow a connection outside any transaction.

        Raises:
            UnavailableError: the database does not answer.
        """
        try:
            pooled = await self._engine.raw_connection()
            try:
                while (raw := cast("Connection", pooled.driver_connection)).is_closed():
                    pooled.invalidate()  # it died while nobody used it, as all do when the server is restarted
                    pooled = await self._engine.raw_connection()
                try:
                    yield raw
                except (*_GONE, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
                    # an InterfaceError may also be a wrong argument; then the connection is still good. The driver has
                    # lost its way (InternalClientError) where the server cut in while it was between two messages.
                    if isinstance(error, asyncpg.InterfaceError) and not raw.is_closed():
                        raise
                    pooled.invalidate()
                    raise UnavailableError(_DOWN) from error
                finally:
                    # whoever was cancelled while rolling back leaves a transaction open, which nobody else may meet
                    if not raw.is_closed() and raw.is_in_transaction():
                        pooled.invalidate()
            finally:
                pooled.close()
        except (*_GONE, DBAPIError, PoolTimeoutError, self._engine.dialect.loaded_dbapi.Error) as error:
            if refused(error):
                raise LoginError(self.role) from error
            raise UnavailableError(_DOWN) from error

    @asynccontextmanager
    async def transaction(self, scope: Scope | None = None) -> AsyncIterator[Connection]:
        """Open a transaction, bound where a scope is given to one person's rows, as far as it reaches."""
        async with (
            self.connection() as connection,
            connection.transaction() if scope is None else _bound(connection, scope),
        ):
            yield connection

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()


@asynccontextmanager
async def entire(connection: Connection, scope: Scope) -> AsyncIterator[None]:
    """Let a reader's transaction see all of its person for a moment: to find what must be kept silent, no more."""
    bound = "select " + ", ".join(f"set_config('cenotaph.{name}', ${n}, true)" for n, name in enumerate(_BOUNDS[2:], 1))
    await connection.execute(bound, *map(str, bounds_of(scope.person)[2:]))
    yield
    await connection.execute(bound, *map(str, bounds_of(scope)[2:]))


def bounds_of(scope: Scope) -> tuple[UUID, ...]:
    """Say how far a scope reaches, as the policies take it: tenant, person, project, task, assistant, purpose.

    Nil is any, and top none of them.
    """
    if (reach := scope.reach) is None:
        return scope.tenant_id, scope.subject_id, *(_ANY for _ in _BOUNDS[2:])
    own = (each or _NONE for each in (reach.task, reach.assistant, reach.purpose))
    return scope.tenant_id, scope.subject_id, reach.project or _ANY, *own


@asynccontextmanager
async def _bound(connection: Connection, scope: Scope) -> AsyncIterator[None]:
    """Open a transaction and bind it as far as a scope reaches in the same round trip; nothing of it may be nested."""
    # ids and nothing else, as no other type has an int
    values = dict(zip(_BOUNDS, (UUID(int=each.int) for each in bounds_of(scope)), strict=True))
    settings = ", ".join(f"set_config('cenotaph.{name}', '{value}', true)" for name, value in values.items())
    await connection.execute(f"begin; select {settings}")
    try:
        yield
    except BaseException:
        if not connection.is_closed():
            await connection.execute("rollback")
        raise
    await connection.execute("commit")


async def readers_of(connection: Connection, table: str) -> list[str]:
    """Name the roles that may select from a table or from columns of it, as Postgres has it; its owner is left out."""
    rows = await connection.fetch(
        """select distinct pg_get_userbyid(granted.grantee)::text as name
           from pg_class c cross join lateral (
             select * from aclexplode(c.relacl)
             union all
             select x.* from pg_attribute a cross join aclexplode(a.attacl) x where a.attrelid = c.oid
           ) granted
           where c.oid = $1::text::regclass and granted.privilege_type = 'SELECT' and granted.grantee <> c.relowner
           order by 1""",
        table,
    )
    return [row["name"] for row in rows]


def refused(error: Exception) -> bool:
    """Say whether a login was refused: role or password (SQLSTATE class 28), or the right to enter the database."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return str(getattr(cause, "sqlstate", "")).startswith(("28", "42501"))


def statements(package: str, name: str) -> str:
    """Read an SQL file that ships inside a package."""
    return files(package).joinpath("sql", name).read_text(encoding="utf-8")
