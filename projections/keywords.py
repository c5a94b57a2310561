"""The keyword index: keyed hashes of the tokens of every current memory, fetched by shared token (GIN)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
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
    TenantId,
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
        waiting: dict[tuple[TenantId, MemoryId], _Row] = {}
        for stored in events:
            event, scope = stored.event, stored.scope
            for brought in (stored, *(sources[each] for each in _back(stored) if each in sources)):
                if isinstance(brought.event, Accepted) and (body := bodies.get(brought.event_id)) is not None:
                    waiting[scope.tenant_id, brought.event.memory_id] = _Row(scope, brought.event, body)
            if isinstance(event, Superseded | Tombstoned | Expired | Merged | Resolved):
                await _write(connection, place, waiting)
                waiting.clear()
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
        await _write(connection, place, waiting)


def _back(stored: StoredEvent) -> Sequence[EventId]:
    return stored.event.sources if isinstance(stored.event, Separated) else ()


@dataclass(frozen=True, slots=True)
class _Row:
    scope: Scope
    event: Accepted
    body: IndexBody


async def _write(connection: Connection, place: str, rows: Mapping[tuple[TenantId, MemoryId], _Row]) -> None:
    """Write entries in one statement, in the order of their key."""
    if not rows:
        return
    ordered = sorted(rows.values(), key=lambda row: row.event.memory_id.bytes)
    await connection.execute(
        f"insert into {place}.entry (tenant_id, subject_id, memory_id, version, terms, length, project, task,"
        " assistant, purpose) select t, s, m, v, e::bigint[], l, p, k, a, u"
        " from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::text[], $6::integer[], $7::uuid[],"
        " $8::uuid[], $9::uuid[], $10::uuid[]) as given(t, s, m, v, e, l, p, k, a, u)"
        " on conflict (tenant_id, memory_id) do update set"
        " version = excluded.version, terms = excluded.terms, length = excluded.length,"
        " project = excluded.project, task = excluded.task, assistant = excluded.assistant, purpose = excluded.purpose",
        [row.scope.tenant_id for row in ordered],
        [row.scope.subject_id for row in ordered],
        [row.event.memory_id for row in ordered],
        [row.event.version for row in ordered],
        ["{" + ",".join(map(str, row.body.terms)) + "}" for row in ordered],  # arrays of arrays must be rectangular
        [row.body.length for row in ordered],
        [row.event.audience.project for row in ordered],
        [row.event.audience.task for row in ordered],
        [row.event.audience.assistant for row in ordered],
        [row.event.audience.purpose for row in ordered],
    )


@dataclass(frozen=True, slots=True)
class Matching:
    """One person's entries that share a term, and of how many they are, with a mean length of so many tokens."""

    entries: list[Entry]
    count: int
    mean_length: float


async def matching(connection: Connection, scope: Scope, terms: Collection[int]) -> Matching:
    """Fetch one person's entries that share a term, and what their scores depend on."""
    rows = await connection.fetch(
        """select every.n, every.mean, e.memory_id, e.version, e.terms, e.length
           from (select count(*) as n, coalesce(avg(length), 0)::float8 as mean from keywords.entry
                 where tenant_id = $1 and subject_id = $2) every
           left join lateral (select memory_id, version, terms, length from keywords.entry
                              where tenant_id = $1 and subject_id = $2 and terms && $3::bigint[]) e on true""",
        scope.tenant_id,
        scope.subject_id,
        list(terms),
    )
    entries = [
        Entry(MemoryId(row["memory_id"]), row["version"], tuple(row["terms"]), row["length"])
        for row in rows
        if row["memory_id"] is not None
    ]
    return Matching(entries, rows[0]["n"], rows[0]["mean"])
