"""The vector index as a read model: it follows the log into a Milvus collection."""

from collections import defaultdict
from collections.abc import Collection as AbstractCollection
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from events.breaker import Breaker
from events.envelope import StoredEvent
from events.errors import UnavailableError
from events.log import read_events
from events.model import (
    Accepted,
    Embedded,
    Expired,
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
from projections.changes import sources_of
from projections.index import IndexReader, vector_of
from projections.milvus import Milvus
from projections.model_names import NOWHERE, default_model, dimension_of
from projections.vector_scope import partition_of
from projections.vectors import DIMENSION, Hit, Row, Vectors, comparable

_LEFT_ALONE_S = 1.0
_MOVING = (Accepted, Tombstoned, Expired, Resolved, Tiered, Merged, Separated, Embedded)


class Collection(Protocol):
    """Where the rows go."""

    async def upsert(self, rows: Sequence[Row]) -> int:
        """Write what is newer, by position, than what is there; return how many rows that were."""

    async def delete(self, scope: Scope, memory_ids: AbstractCollection[MemoryId]) -> int:
        """Delete one person's rows of these memories; return how many there were."""

    async def delete_whole(self, tenant: TenantId, subject: SubjectId | None) -> int:
        """Delete every row of a person, or of a tenant; return how many there were."""


async def follow(
    collection: Collection, index: IndexReader, connection: Connection, events: Sequence[StoredEvent], model: str
) -> None:
    """Write what was accepted or is back, delete what was forgotten, has expired, is settled, merged or cold.

    Person by person; what happened last to a memory in this batch decides. Only vectors of `model` are written.
    """
    by_person: dict[Scope, list[StoredEvent]] = defaultdict(list)
    for event in events:
        if isinstance(event.event, _MOVING):
            by_person[event.scope].append(event)
    for scope, own in by_person.items():
        # a body that was fenced meanwhile does not open, so it is not written after its tombstone
        bodies = await index.read(connection, scope, own)
        rows: dict[MemoryId, Row | None] = {}
        for stored in own:
            rows.update(dict.fromkeys(_gone(stored)))
            if isinstance(stored.event, Accepted) and (body := bodies.get(stored.event_id)) is not None:
                row = _row(stored, stored.position, vector_of(body) if body.model == model else None)
                if row is not None or stored.event.version > 1:  # the version before it may have a row
                    rows[stored.event.memory_id] = row
            rows.update(await _brought(index, connection, stored, model))
        await collection.upsert([row for row in rows.values() if row is not None])
        await collection.delete(scope, {memory for memory, row in rows.items() if row is None})
    for event in events:
        if isinstance(event.event, Tombstoned) and event.event.whole:
            await _bury(collection, event)


async def _bury(collection: Collection, tombstone: StoredEvent) -> None:
    """Delete what a tombstone names: memories, or all of a person or a tenant."""
    scope, event = tombstone.scope, tombstone.event
    if isinstance(event, Tombstoned) and event.whole:
        await collection.delete_whole(scope.tenant_id, scope.subject_id if event.scope == "person" else None)
    elif isinstance(event, Tombstoned):
        await collection.delete(scope, event.memories)


async def _brought(
    index: IndexReader, connection: Connection, stored: StoredEvent, model: str
) -> dict[MemoryId, Row | None]:
    """Return the rows an event brings back: as of that event, so that a rebuild finds no more than there was."""
    if not (sources := sources_of(stored)):
        return {}
    brought = list((await read_events(connection, sources)).values())
    vectors = await index.vectors(connection, stored.scope, brought, model, stored.version + 1)
    rows = (_row(each, stored.position, vectors.get(each.event_id)) for each in brought)
    return {row.memory_id: row for row in rows if row is not None}


def _gone(stored: StoredEvent) -> Sequence[MemoryId]:
    """Name the memories an event takes out of the index."""
    event = stored.event
    if isinstance(event, Tombstoned | Expired | Merged) or (isinstance(event, Tiered) and event.tier == "cold"):
        return event.memories
    return event.settled if isinstance(event, Resolved) else ()


def _row(brought: StoredEvent, position: Position | None, vector: NDArray[np.float32] | None) -> Row | None:
    """Return the row of the version an event brought, as of another event; None where it has no vector to compare."""
    event = brought.event
    if not isinstance(event, Accepted) or vector is None or not comparable(vector, len(vector)):
        return None
    return Row(brought.scope, event.memory_id, event.version, position or Position(0), vector, event.audience)


@dataclass(frozen=True, slots=True)
class VectorPlace:
    """Where an index lies, which model made its vectors, how far it has followed the log, and whether it serves yet.

    One that is built answers nobody until it has caught up and is switched to.
    """

    place: str
    model: str | None
    position: Position
    building: bool


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
        # whoever asks a store that hangs waits as long as an answer may take: one failure spares the others that
        self._breaker = Breaker(
            1,
            _LEFT_ALONE_S,
            opened=lambda: UnavailableError("the vector index did not answer lately and is left alone for a moment"),
            ours=lambda error: not isinstance(error, UnavailableError),
        )

    async def create(self, connection: Connection, place: str) -> None:
        """Make an empty collection, dropping what an interrupted rebuild left there."""
        collection = Vectors(self._milvus, place, dimension=dimension_of(await model_of(connection, place)))
        await collection.drop()
        await collection.ensure()
        self._collections[place] = collection

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Write and delete rows, as the events say, in order."""
        model = await model_of(connection, place)
        await follow(await self._at(place, dimension_of(model)), self._index, connection, events, model)

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
            return await (await self._at(place, len(vector))).search(scope, vector, limit)

    async def remove(self, place: str, tombstone: StoredEvent) -> None:
        """Delete what a tombstone names at once, before the log is followed that far."""
        await _bury(await self._at(place), tombstone)

    async def rewrite(self, each: VectorPlace, people: AbstractCollection[Scope]) -> int:
        """Write the partitions anew in which rows of these people lie; return how many rows those hold."""
        collection = await self._at(each.place, dimension_of(each.model or default_model()))
        partitions = sorted({partition_of(scope) for scope in people})
        return sum([await collection.rewrite(partition) for partition in partitions])

    async def drop(self, place: str) -> None:
        """Drop a collection that serves no more."""
        await (await self._at(place)).drop()
        self._collections.pop(place, None)

    async def _at(self, place: str, dimension: int = DIMENSION) -> Vectors:
        if place not in self._collections:
            collection = Vectors(self._milvus, place, dimension=dimension)
            await collection.ensure()
            self._collections[place] = collection
        return self._collections[place]


async def model_of(connection: Connection, place: str) -> str:
    """Say which model made the vectors of a collection, the one that serves or one that is built beside it."""
    row = await connection.fetchrow(
        "select model from read_model.checkpoint where replace(place, '_next', '') = replace($1, '_next', '')", place
    )
    return default_model() if row is None or row["model"] is None else str(row["model"])


async def vector_places(connection: Connection) -> dict[str, VectorPlace]:
    """Name every vector index there is by its read model: the one that serves, and one that is beside it now."""
    rows = await connection.fetch(
        "select name, place, model, position, until from read_model.checkpoint"
        " where name in ('vectors', 'vectors_beside') and place <> $1",
        NOWHERE,
    )
    return {
        row["name"]: VectorPlace(
            row["place"],
            row["model"],
            Position(row["position"]),
            building=row["name"] != "vectors" and row["until"] is None,
        )
        for row in rows
    }


class VectorsBeside(VectorIndex):
    """The index of another model, while it is built and while it is kept after it served."""

    name: ClassVar[str] = "vectors_beside"
