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
from projections.model import Projection

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

    async def begin(self, connection: Connection) -> None:
        """Make it, empty."""

    async def take(self, connection: Connection, events: Sequence[StoredEvent]) -> None:
        """Take a batch of events, in order of position, as the read model does."""

    def built(self, connection: Connection) -> AsyncIterator[Entry]:
        """Read what was built, by table and key."""

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
    """The mirror of a read model in Postgres: one schema, every table of it that has a primary key."""

    def __init__(self, projection: Projection) -> None:
        self._projection = projection
        self._place = f"mirror_{projection.name}"

    async def begin(self, connection: Connection) -> None:
        """Make the schema, empty."""
        await self._projection.create(connection, self._place)

    async def take(self, connection: Connection, events: Sequence[StoredEvent]) -> None:
        """Apply a batch."""
        await self._projection.apply(connection, self._place, events)

    def built(self, connection: Connection) -> AsyncIterator[Entry]:
        """Read what was built."""
        return self.live(connection, self._place)

    async def live(self, connection: Connection, place: str) -> AsyncIterator[Entry]:
        """Read a schema through a cursor, as the caller's transaction sees it."""
        for table in await connection.fetch(_TABLES, place):
            query = f"select * from {place}.{table['name']} order by {', '.join(table['ordering'])}"
            async for row in connection.cursor(query, prefetch=_PREFETCH):
                columns = dict(row)
                memory: UUID | None = columns.get("memory_id")
                key = tuple(columns.pop(column) for column in table["key"])
                yield Entry(
                    table["name"],
                    key,
                    str(key[0]),
                    "/".join(map(str, key[1:])),
                    None if memory is None else MemoryId(memory),
                    columns,
                )
