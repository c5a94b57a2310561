"""The vector index as a read model: it follows the log into a Milvus collection."""

from collections import defaultdict
from collections.abc import Collection as AbstractCollection
from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from events.envelope import StoredEvent
from events.model import Accepted, MemoryId, Position, Resolved, Scope, Tombstoned
from events.postgres import Connection
from projections.index import IndexReader, vector_of
from projections.milvus import Milvus
from projections.vectors import Hit, Row, Vectors, comparable


class Collection(Protocol):
    """Where the rows go."""

    async def upsert(self, rows: Sequence[Row]) -> int:
        """Write what is newer, by position, than what is there; return how many rows that were."""

    async def delete(self, scope: Scope, memory_ids: AbstractCollection[MemoryId]) -> int:
        """Delete one person's rows of these memories; return how many there were."""


async def follow(
    collection: Collection, index: IndexReader, connection: Connection, events: Sequence[StoredEvent]
) -> None:
    """Write accepted versions and delete what was forgotten or settled, person by person, in order."""
    by_person: dict[Scope, list[StoredEvent]] = defaultdict(list)
    for event in events:
        if event.type in {Accepted.type, Tombstoned.type, Resolved.type}:
            by_person[event.scope].append(event)
    for scope, own in by_person.items():
        # a body that was fenced meanwhile does not open, so it is not written after its tombstone
        bodies = await index.read(connection, scope, own)
        await collection.upsert(
            [
                Row(
                    scope,
                    stored.event.memory_id,
                    stored.event.version,
                    stored.position or Position(0),
                    vector_of(body),
                )
                for stored in own
                if isinstance(stored.event, Accepted)
                and (body := bodies.get(stored.event_id)) is not None
                and comparable(vector_of(body))
            ]
        )
        gone = {memory for each in own if isinstance(each.event, Tombstoned) for memory in each.event.memories}
        gone |= {memory for each in own if isinstance(each.event, Resolved) for memory in each.event.settled}
        await collection.delete(scope, gone)


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

    async def create(self, connection: Connection, place: str) -> None:
        """Make an empty collection, dropping what an interrupted rebuild left there."""
        del connection
        collection = await self._at(place)
        await collection.drop()
        await collection.ensure()

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Write accepted versions, delete forgotten memories, in order."""
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
        """Return one person's nearest memories, best first."""
        return await (await self._at(place)).search(scope, vector, limit)

    async def _at(self, place: str) -> Vectors:
        if place not in self._collections:
            collection = Vectors(self._milvus, place)
            await collection.ensure()
            self._collections[place] = collection
        return self._collections[place]
