"""The keyword index: keyed hashes of the tokens of every current memory, fetched by shared token (GIN)."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from events.envelope import StoredEvent
from events.log import read_events
from events.model import (
    Accepted,
    EventId,
    Expired,
    IndexBody,
    MemoryId,
    Merged,
    Resolved,
    Scope,
    Separated,
    Superseded,
    Tombstoned,
)
from events.postgres import Connection
from projections.index import IndexReader
from projections.model import Tables


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory version in the index: its keyed terms, repeated as often as they occur, and its length in tokens."""

    memory_id: MemoryId
    version: int
    terms: tuple[int, ...]
    length: int


class Keywords(Tables):
    """The projection."""

    name: ClassVar[str] = "keywords"
    version: ClassVar[int] = 1

    def __init__(self, index: IndexReader) -> None:
        self._index = index

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Index accepted versions and what is separated again; drop what was superseded, settled, merged or is gone."""
        wanted = {source for stored in events for source in _back(stored)}
        sources = await read_events(connection, wanted) if wanted else {}
        accepted: dict[Scope, list[StoredEvent]] = defaultdict(list)
        for stored in (*events, *sources.values()):
            if isinstance(stored.event, Accepted):
                accepted[stored.scope].append(stored)
        bodies: dict[EventId, IndexBody] = {}
        for scope, own in accepted.items():
            bodies |= await self._index.read(connection, scope, own)
        for stored in events:
            event, scope = stored.event, stored.scope
            for brought in (stored, *(sources[each] for each in _back(stored) if each in sources)):
                if isinstance(brought.event, Accepted) and (body := bodies.get(brought.event_id)) is not None:
                    await _write(connection, place, scope, brought.event, body)
            if isinstance(event, Superseded):
                await connection.execute(
                    f"delete from {place}.entry where tenant_id = $1 and memory_id = $2 and version <= $3",
                    scope.tenant_id,
                    event.memory_id,
                    event.version,
                )
            elif isinstance(event, Tombstoned | Expired | Merged | Resolved):
                await connection.execute(
                    f"delete from {place}.entry where tenant_id = $1 and memory_id = any($2::uuid[])",
                    scope.tenant_id,
                    list(event.settled if isinstance(event, Resolved) else event.memories),
                )


def _back(stored: StoredEvent) -> Sequence[EventId]:
    return stored.event.sources if isinstance(stored.event, Separated) else ()


async def _write(connection: Connection, place: str, scope: Scope, event: Accepted, body: IndexBody) -> None:
    await connection.execute(
        f"insert into {place}.entry values ($1, $2, $3, $4, $5, $6, $7, $8)"
        " on conflict (tenant_id, memory_id) do update set"
        " version = excluded.version, terms = excluded.terms, length = excluded.length,"
        " project = excluded.project, task = excluded.task",
        scope.tenant_id,
        scope.subject_id,
        event.memory_id,
        event.version,
        list(body.terms),
        body.length,
        event.audience.project,
        event.audience.task,
    )


async def matching(connection: Connection, scope: Scope, terms: Collection[int]) -> list[Entry]:
    """Fetch one person's entries that share a term."""
    rows = await connection.fetch(
        "select memory_id, version, terms, length from keywords.entry"
        " where tenant_id = $1 and subject_id = $2 and terms && $3::bigint[]",
        scope.tenant_id,
        scope.subject_id,
        list(terms),
    )
    return [Entry(MemoryId(row["memory_id"]), row["version"], tuple(row["terms"]), row["length"]) for row in rows]


async def statistics(connection: Connection, scope: Scope) -> tuple[int, float]:
    """Return how many entries one person has and their mean length in tokens."""
    row = await connection.fetchrow(
        "select count(*) as n, coalesce(avg(length), 0)::float8 as mean from keywords.entry"
        " where tenant_id = $1 and subject_id = $2",
        scope.tenant_id,
        scope.subject_id,
    )
    return (row["n"], row["mean"]) if row is not None else (0, 0.0)
