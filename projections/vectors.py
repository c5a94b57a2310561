"""The vector index: one row for the current version of each memory, without text, in Milvus Lite or a cluster.

A search costs 2 µs for each flushed and 30 to 70 µs for each unflushed row of its partition, whatever the index. So a
person's rows lie in one of 256 explicit partitions that every call names, and unflushed rows do not pile up. What this
index returns is a hint: the fact state decides every hit.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from events.model import MemoryId, Position, Scope, SubjectId, TenantId
from projections.milvus import TIMEOUT_S, Gate, Milvus
from projections.milvus_client import DataType, MilvusClient
from projections.vector_scope import hexed, partition_of, scope_filter, tenant_filter

COLLECTION: Final = "memory_v1"
DIMENSION: Final = 384
# If all are one person's, 15 to 35 ms a search; less than a memtable of 1 MB, so that Lite does not flush by itself.
FLUSH_ROWS: Final = 512
CHUNK: Final = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """What the index holds of a memory version; `vector` is float32 of length 1, of one model."""

    scope: Scope
    memory_id: MemoryId
    version: int
    position: Position
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory near the asked vector; `score` is the cosine."""

    memory_id: MemoryId
    version: int
    score: float


def _chunks(items: Iterable[T]) -> Iterable[list[T]]:
    items = iter(items)
    while chunk := list(islice(items, CHUNK)):
        yield chunk


def _delete_ids(collection: str, partition: str, ids: list[str], client: MilvusClient) -> None:
    client.delete(collection, ids=ids, partition_name=partition, timeout=TIMEOUT_S)


def _ids(collection: str, partition: str, which: str, client: MilvusClient) -> list[str]:
    rows = client.query_iterator(
        collection,
        filter=which,
        batch_size=CHUNK,
        partition_names=[partition],
        output_fields=["id"],
        consistency_level="Strong",
        timeout=TIMEOUT_S,
    )
    found: list[str] = []
    while batch := rows.next():
        found += [row["id"] for row in batch]
    rows.close()
    return found


class Vectors:
    """One collection of the index. Exactly one process writes to it."""

    def __init__(
        self,
        milvus: Milvus,
        collection: str = COLLECTION,
        flush_rows: int | None = FLUSH_ROWS,
        dimension: int = DIMENSION,
    ) -> None:
        """Name the collection; `ensure` makes it.

        Args:
            milvus: the connection, shared by all collections of a process.
            collection: its name, the place of a rebuild.
            flush_rows: flush Milvus Lite after so many written rows; None leaves it to the server's memtable, which is
                quicker while a rebuild fills a collection nobody searches yet. A cluster always flushes by itself.
            dimension: how many numbers its vectors have.
        """
        self._dimension = dimension
        self._milvus, self._collection = milvus, collection
        self._flush_rows = flush_rows if milvus.is_lite else None
        self._partitions: set[str] = set()
        self._unflushed = 0
        self._gate = Gate()

    async def ensure(self) -> None:
        """Make the collection if it is not there, and load it."""
        await self._milvus.write(self._ensure)

    async def upsert(self, rows: Sequence[Row]) -> int:
        """Write what is newer, by position, than what the index holds; returns how many rows that were.

        So a batch may come twice, or late. But a deleted row leaves nothing to compare with: whoever writes looks at
        the fence first.

        Raises:
            ValueError: A vector is not of the shape, type and length that the index compares.
            UnavailableError: The server does not answer; some rows may be written. Try again.
        """
        for row in rows:
            self._check(row.vector)
        return await self._milvus.write(lambda: self._upsert(rows))

    async def delete(self, scope: Scope, memory_ids: Collection[MemoryId]) -> int:
        """Delete one person's rows of these memories; returns how many there were. Another person's id deletes nothing.

        The bytes stay in the files until the partition is rewritten.
        """
        return await self._milvus.write(lambda: self._delete(scope, memory_ids)) if memory_ids else 0

    async def delete_whole(self, tenant: TenantId, subject: SubjectId | None) -> int:
        """Delete every row of a person, or of a whole tenant; returns how many there were."""
        return await self._milvus.write(lambda: self._delete_whole(tenant, subject))

    async def search(self, scope: Scope, vector: NDArray[np.float32], limit: int) -> list[Hit]:
        """Return one person's nearest memories, best first."""
        self._check(vector)
        return await self._milvus.read(lambda: self._search(scope, vector, limit))

    async def flush(self) -> None:
        """Write what is in memory to files."""
        await self._milvus.write(self._flush)

    async def drop(self) -> None:
        """Drop the collection with its files, if it is there."""
        await self._milvus.write(self._drop)

    def _ensure(self) -> None:
        def make(client: MilvusClient) -> None:
            if not client.has_collection(self._collection, timeout=TIMEOUT_S):
                schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
                schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=32)
                schema.add_field("tenant_id", DataType.VARCHAR, max_length=32)
                schema.add_field("subject_id", DataType.VARCHAR, max_length=32)
                schema.add_field("version", DataType.INT64)
                schema.add_field("position", DataType.INT64)
                schema.add_field("vector", DataType.FLOAT_VECTOR, dim=self._dimension)
                index = client.prepare_index_params()
                index.add_index("vector", index_type="FLAT", metric_type="IP")
                client.create_collection(
                    self._collection, schema=schema, index_params=index, consistency_level="Strong", timeout=TIMEOUT_S
                )
            client.load_collection(self._collection, timeout=TIMEOUT_S)

        self._milvus.call(self._collection, make)

    def _upsert(self, rows: Sequence[Row]) -> int:
        by_scope: dict[Scope, dict[MemoryId, Row]] = defaultdict(dict)
        for row in sorted(rows, key=lambda row: row.position):
            by_scope[row.scope][row.memory_id] = row
        written = 0
        for scope, newest in by_scope.items():
            self._make_partition(partition_of(scope))
            written += sum(self._upsert_chunk(scope, chunk) for chunk in _chunks(newest.values()))
        self._wrote(written)
        return written

    def _upsert_chunk(self, scope: Scope, rows: list[Row]) -> int:
        held = self._held(scope, [row.memory_id for row in rows])
        data = [
            {
                "id": hexed(row.memory_id),
                "tenant_id": hexed(scope.tenant_id),
                "subject_id": hexed(scope.subject_id),
                "version": row.version,
                "position": row.position,
                "vector": row.vector,
            }
            for row in rows
            if row.position > held.get(hexed(row.memory_id), -1)
        ]
        if data:
            name = partition_of(scope)
            self._milvus.call(
                self._collection,
                lambda client: client.upsert(self._collection, data, partition_name=name, timeout=TIMEOUT_S),
            )
        return len(data)

    def _delete(self, scope: Scope, memory_ids: Collection[MemoryId]) -> int:
        if not self._has_partition(name := partition_of(scope)):
            return 0
        deleted = 0
        for chunk in _chunks(memory_ids):
            # Read within the scope, then delete by id: Lite would search the whole collection for any other filter.
            if held := list(self._held(scope, chunk)):
                self._milvus.call(
                    self._collection,
                    partial(_delete_ids, self._collection, name, held),
                )
            deleted += len(held)
        self._wrote(deleted)
        return deleted

    def _delete_whole(self, tenant: TenantId, subject: SubjectId | None) -> int:
        deleted = 0
        which = tenant_filter(tenant) if subject is None else scope_filter(tenant, subject)
        for name in self._partitions_of(tenant, subject):
            for chunk in _chunks(self._milvus.call(self._collection, partial(_ids, self._collection, name, which))):
                self._milvus.call(self._collection, partial(_delete_ids, self._collection, name, chunk))
                deleted += len(chunk)
                self._wrote(len(chunk))
        return deleted

    def _partitions_of(self, tenant: TenantId, subject: SubjectId | None) -> list[str]:
        if subject is not None:
            name = partition_of(Scope(tenant_id=tenant, subject_id=subject))
            return [name] if self._has_partition(name) else []
        return list(
            self._milvus.call(
                self._collection, lambda client: client.list_partitions(self._collection, timeout=TIMEOUT_S)
            )
        )

    def _search(self, scope: Scope, vector: NDArray[np.float32], limit: int) -> list[Hit]:
        if not self._has_partition(name := partition_of(scope), self._milvus.answer_s):
            return []
        with self._gate.shared():
            found = self._milvus.call(
                self._collection,
                lambda client: client.search(
                    self._collection,
                    data=[vector],
                    anns_field="vector",
                    filter=scope_filter(scope.tenant_id, scope.subject_id),
                    partition_names=[name],
                    limit=limit,
                    output_fields=["version"],
                    search_params={"metric_type": "IP"},
                    timeout=self._milvus.answer_s,
                ),
            )[0]
        return [Hit(MemoryId(UUID(hit["id"])), hit["entity"]["version"], float(hit["distance"])) for hit in found]

    def _held(self, scope: Scope, memory_ids: Collection[MemoryId]) -> dict[str, int]:
        """Read the positions of one person's rows, by id."""
        name, which = partition_of(scope), scope_filter(scope.tenant_id, scope.subject_id, memory_ids)
        rows = self._milvus.call(
            self._collection,
            lambda client: client.query(
                self._collection,
                filter=which,
                partition_names=[name],
                output_fields=["id", "position"],
                timeout=TIMEOUT_S,
            ),
        )
        return {row["id"]: row["position"] for row in rows}

    def _make_partition(self, name: str) -> None:
        """Make a partition at its first row; all 256 at once would take two seconds."""
        if not self._has_partition(name):
            self._milvus.call(
                self._collection, lambda client: client.create_partition(self._collection, name, timeout=TIMEOUT_S)
            )
            self._partitions.add(name)

    def _has_partition(self, name: str, timeout_s: float = TIMEOUT_S) -> bool:
        if name in self._partitions:
            return True
        if found := self._milvus.call(
            self._collection, lambda client: client.has_partition(self._collection, name, timeout=timeout_s)
        ):
            self._partitions.add(name)
        return bool(found)

    def _wrote(self, rows: int) -> None:
        self._unflushed += rows
        if self._flush_rows is not None and self._unflushed >= self._flush_rows:
            self._flush()

    def _flush(self) -> None:
        with self._gate.alone():
            self._milvus.call(self._collection, lambda client: client.flush(self._collection, timeout=TIMEOUT_S))
        self._unflushed = 0

    def _drop(self) -> None:
        self._milvus.call(self._collection, lambda client: client.drop_collection(self._collection, timeout=TIMEOUT_S))
        self._partitions.clear()
        self._unflushed = 0

    def _check(self, vector: NDArray[np.float32]) -> None:
        if not comparable(vector, self._dimension):
            raise ValueError(f"the index compares float32 vectors of shape ({self._dimension},) and length 1")


def comparable(vector: NDArray[np.float32], dimension: int = DIMENSION) -> bool:
    """Say whether an index can compare this vector: float32, of its shape, of length 1."""
    return (
        vector.shape == (dimension,) and vector.dtype == np.float32 and bool(np.isclose(vector @ vector, 1, atol=1e-3))
    )
