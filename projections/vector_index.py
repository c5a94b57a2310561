"""The vector index as a read model: it follows the log into a Milvus collection."""

from collections import defaultdict
from collections.abc import Collection as AbstractCollection
from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from events.envelope import StoredEvent
from events.log import read_events
from events.model import (
    Accepted,
    Expired,
    IndexBody,
    MemoryId,
    Merged,
    Position,
    Resolved,
    Scope,
    Separated,
    SubjectId,
    TenantId,
    Tiered,
    Tombstoned,
)
from events.postgres import Connection
from projections.breaker import Breaker
from projections.changes import sources_of
from projections.index import IndexReader, vector_of
from projections.milvus import Milvus
from projections.vectors import Hit, Row, Vectors, comparable


class Collection(Protocol):
    """Where the rows go."""

    async def upsert(self, rows: Sequence[Row]) -> int:
        """Write what is newer, by position, than what is there; return how many rows that were."""

    async def delete(self, scope: Scope, memory_ids: AbstractCollection[MemoryId]) -> int:
        """Delete one person's rows of these memories; return how many there were."""

    async def delete_whole(self, tenant: TenantId, subject: SubjectId | None) -> int:
        """Delete every row of a person, or of a tenant; return how many there were."""


async def follow(
    collection: Collection, index: IndexReader, connection: Connection, events: Sequence[StoredEvent]
) -> None:
    """Write what was accepted or is back, delete what was forgotten, has expired, is settled, merged or cold.

    Person by person; what happened last to a memory in this batch decides.
    """
    by_person: dict[Scope, list[StoredEvent]] = defaultdict(list)
    for event in events:
        if isinstance(event.event, Accepted | Tombstoned | Expired | Resolved | Tiered | Merged | Separated):
            by_person[event.scope].append(event)
    for scope, own in by_person.items():
        sources = await read_events(connection, {source for each in own for source in sources_of(each)})
        # a body that was fenced meanwhile does not open, so it is not written after its tombstone
        bodies = await index.read(connection, scope, [*own, *sources.values()])
        rows: dict[MemoryId, Row | None] = {}
        for stored in own:
            rows.update(dict.fromkeys(_gone(stored)))
            for brought in (stored, *(sources[source] for source in sources_of(stored) if source in sources)):
                if (row := _row(brought, stored.position, bodies.get(brought.event_id))) is not None:
                    rows[row.memory_id] = row
        await collection.upsert([row for row in rows.values() if row is not None])
        await collection.delete(scope, {memory for memory, row in rows.items() if row is None})
    for event in events:
        if isinstance(event.event, Tombstoned) and event.event.whole:
            person = event.scope.subject_id if event.event.scope == "person" else None
            await collection.delete_whole(event.scope.tenant_id, person)


def _gone(stored: StoredEvent) -> Sequence[MemoryId]:
    """Name the memories an event takes out of the index."""
    event = stored.event
    if isinstance(event, Tombstoned | Expired | Merged) or (isinstance(event, Tiered) and event.tier == "cold"):
        return event.memories
    return event.settled if isinstance(event, Resolved) else ()


def _row(brought: StoredEvent, position: Position | None, body: IndexBody | None) -> Row | None:
    """Return the row of the version an event brought, as of another event; None where it has no vector to compare."""
    event = brought.event
    if not isinstance(event, Accepted) or body is None or not comparable(vector_of(body)):
        return None
    return Row(brought.scope, event.memory_id, event.version, position or Position(0), vector_of(body))


class VectorIndex:
    """The projection. Milvus takes no part in the transaction: rows are written by position, so a batch may come twice.

    A superseded version needs no step of its own: the version that supersedes it has the same id and replaces it.
    """

    name: ClassVar[str] = "vectors"
    version: ClassVar[int] = 1

    def __init__(self, milvus: Milvus, index: IndexReader) -> None:
        self._milvus = milvus
        self._index = index
        self._collections: dict[str, Vectors] = {}
        self._breaker = Breaker("the vector index")

    async def create(self, connection: Connection, place: str) -> None:
        """Make an empty collection, dropping what an interrupted rebuild left there."""
        del connection
        collection = await self._at(place)
        await collection.drop()
        await collection.ensure()

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Write and delete rows, as the events say, in order."""
        await follow(await self._at(place), self._index, connection, events)

    async def swap(self, connection: Connection, place: str, built: str) -> str:
        """Let the rebuilt collection serve and drop the old one."""
        del connection
        await (await self._at(built)).flush()
        await (await self._at(place)).drop()
        self._collections.pop(place, None)
        return built

    async def flush(self, place: str) -> None:
        """Write what is in memory to files, so that no reader misses a row or sees a deleted one."""
        await (await self._at(place)).flush()

    async def search(self, place: str, scope: Scope, vector: NDArray[np.float32], limit: int) -> list[Hit]:
        """Return one person's nearest memories, best first.

        Raises:
            UnavailableError: the index does not answer, or did not lately.
        """
        with self._breaker.guard():
            return await (await self._at(place)).search(scope, vector, limit)

    async def _at(self, place: str) -> Vectors:
        if place not in self._collections:
            collection = Vectors(self._milvus, place)
            await collection.ensure()
            self._collections[place] = collection
        return self._collections[place]
