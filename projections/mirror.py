"""Building a read model a second time and reading both, entry by entry, in one order (R6).

The second one is made inside a transaction that is rolled back: nobody else ever sees it, and nothing of it is left
after a crash.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable
from uuid import UUID

from events.envelope import StoredEvent
from events.model import MemoryId, Position
from events.postgres import Connection
from projections.model import Projection, take

# text is ordered as Python orders it
_TABLES = """
select c.relname as name, array_agg(a.attname::text order by k.n) as key,
       array_agg(quote_ident(a.attname) || case when a.atttypid = 'text'::regtype then ' collate "C"' else '' end
                 order by k.n) as ordering
from pg_index i join pg_class c on c.oid = i.indrelid
cross join lateral unnest(i.indkey::smallint[]) with ordinality as k(attnum, n)
join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
where i.indisprimary and c.relnamespace = $1::text::regnamespace
group by c.relname order by c.relname collate "C"
"""
_TEMPORARY = "pg_temp"
_PREFETCH = 500

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a read model.

    `key` orders and identifies it within its table; `tenant_id` and `id` name it; `memory_id` is the memory it is
    about, if it is about one. `columns` are compared, never shown.
    """

    table: str
    key: Key
    tenant_id: str
    id: str
    memory_id: MemoryId | None
    columns: Mapping[str, object]


Pair = tuple[Entry | None, Entry | None]
"""An entry of the read model that serves, and the one of the same key that was built."""


class Mirror(Protocol):
    """A read model beside the one that serves, for as long as one transaction."""

    async def begin(self, connection: Connection, place: str) -> None:
        """Make it, empty, in the form of the one that serves."""

    async def take(self, connection: Connection, events: Sequence[StoredEvent]) -> None:
        """Take a batch of events, in order of position, as the read model does."""

    def built(self, connection: Connection, place: str) -> AsyncIterator[Entry]:
        """Read what was built beside a place, by table and key."""

    def live(self, connection: Connection, place: str) -> AsyncIterator[Entry]:
        """Read what serves, by table and key."""


@runtime_checkable
class LooseMirror(Mirror, Protocol):
    """One whose serving side cannot be read at exactly one position, so that what differs must be looked at again."""

    async def again(self, connection: Connection, place: str, entries: Sequence[Entry]) -> list[Pair]:
        """Read the entries of these keys once more, on both sides."""

    def written_at(self, entry: Entry) -> Position:
        """Return the position of the event that wrote an entry, as the entry says."""


class TablesMirror:
    """The mirror of a read model in Postgres: temporary tables, like those of its schema that have a primary key."""

    def __init__(self, projection: Projection) -> None:
        self._projection = projection

    async def begin(self, connection: Connection, place: str) -> None:
        """Make the tables, empty; no role but the owner may make a schema, any may make temporary tables."""
        for table in await _tables(connection, place):
            await connection.execute(
                f"create temporary table {table.name} (like {place}.{table.name} including all) on commit drop"
            )

    async def take(self, connection: Connection, events: Sequence[StoredEvent]) -> None:
        """Apply a batch."""
        await take(self._projection, connection, _TEMPORARY, events)

    def built(self, connection: Connection, place: str) -> AsyncIterator[Entry]:
        """Read what was built."""
        return _rows(connection, place, _TEMPORARY)

    def live(self, connection: Connection, place: str) -> AsyncIterator[Entry]:
        """Read what serves, as the caller's transaction sees it."""
        return _rows(connection, place, place)


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    key: tuple[str, ...]
    ordering: str


async def _tables(connection: Connection, place: str) -> list[_Table]:
    rows = await connection.fetch(_TABLES, place)
    return [_Table(row["name"], tuple(row["key"]), ", ".join(row["ordering"])) for row in rows]


async def _rows(connection: Connection, place: str, source: str) -> AsyncIterator[Entry]:
    """Read the tables of a place, or those of the same names elsewhere, through a cursor."""
    for table in await _tables(connection, place):
        query = f"select * from {source}.{table.name} order by {table.ordering}"
        async for row in connection.cursor(query, prefetch=_PREFETCH):
            columns = dict(row)
            memory: UUID | None = columns.get("memory_id")
            key = {column: columns.pop(column) for column in table.key}
            yield Entry(
                table.name,
                tuple(key.values()),
                str(key.pop("tenant_id")),
                "/".join(map(str, key.values())),
                None if memory is None else MemoryId(memory),
                columns,
            )
