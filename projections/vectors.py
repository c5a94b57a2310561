"""The vector index: one row for the current version of each memory, without text, in Milvus Lite or a cluster.

A search costs 2 µs for each flushed and 30 to 70 µs for each unflushed row of its partition, whatever the index. So a
person's rows lie in one of 256 explicit partitions that every call names, and unflushed rows do not pile up. What this
index returns is a hint: the fact state decides every hit.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from events.errors import UnavailableError
from events.ids import read_id
from events.model import PRIVATE, Audience, MemoryId, Position, Scope, SubjectId, TenantId
from projections.milvus import TIMEOUT_S, Gate, Milvus
from projections.vector_calls import (
    MOST,
    chunks,
    delete_ids,
    make_collection,
    read_by_ids,
    read_ids,
    read_rows,
    some_ids,
)
from projections.vector_partitions import Partitions, after, generation_of, row_id
from projections.vector_scope import hexed, partition_of, scope_filter, tenant_filter

COLLECTION: Final = "memory_v1"
DIMENSION: Final = 384
# If all are one person's, 15 to 35 ms a search; less than a memtable of 1 MB, so that Lite does not flush by itself.
FLUSH_ROWS: Final = 512
_OFF: Final = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """What the index holds of a memory version; `vector` is float32 of length 1, of one model.

    `audience` says which readers it is for.
    """

    scope: Scope
    memory_id: MemoryId
    version: int
    position: Position
    vector: NDArray[np.float32]
    audience: Audience = PRIVATE


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory near the asked vector; `score` is the cosine."""

    memory_id: MemoryId
    version: int
    score: float


def audience_columns(audience: Audience) -> dict[str, str]:
    """Write an audience as the index has it; empty where nothing is named."""
    return {name: "" if each is None else hexed(each) for name, each in audience}


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
        self._partitions = Partitions(milvus, collection)
        self._rewriting: dict[str, str] = {}
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

        The bytes stay in the files until the partition is written anew (`rewrite`).
        """
        return await self._milvus.write(lambda: self._delete(scope, memory_ids)) if memory_ids else 0

    async def delete_whole(self, tenant: TenantId, subject: SubjectId | None) -> int:
        """Delete every row of a person, or of a whole tenant; returns how many there were."""
        return await self._milvus.write(lambda: self._delete_whole(tenant, subject))

    async def rewrite(self, partition: str) -> int:
        """Write a partition's living rows into a sibling and drop it with its bytes; return how many rows that were.

        Writing and searching go on meanwhile. Interrupted, it has changed nothing and is begun again.

        Args:
            partition: its name as `partition_of` returns it.
        """
        rows = await self._milvus.write(lambda: self._begin(partition))
        if rows is None:
            return 0
        moved = 0
        for wanted in rows:
            moved += await self._milvus.write(partial(self._move, partition, wanted))
        await self._milvus.write(lambda: self._switch(partition))
        return moved

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
        self._milvus.call(self._collection, partial(make_collection, self._collection, self._dimension))

    def _upsert(self, rows: Sequence[Row]) -> int:
        by_scope: dict[Scope, dict[MemoryId, Row]] = defaultdict(dict)
        for row in sorted(rows, key=lambda row: row.position):
            by_scope[row.scope][row.memory_id] = row
        written = 0
        for scope, newest in by_scope.items():
            name = self._partitions.make(base := partition_of(scope))
            for chunk in chunks(newest.values()):
                written += self._upsert_chunk(scope, chunk, name)
                if (sibling := self._rewriting.get(base)) is not None:
                    self._upsert_chunk(scope, chunk, sibling)
        self._wrote(written)
        return written

    def _upsert_chunk(self, scope: Scope, rows: list[Row], name: str) -> int:
        held = self._held(scope, [row.memory_id for row in rows], name)
        data = [
            {
                "id": row_id(row.memory_id, name),
                "tenant_id": hexed(scope.tenant_id),
                "subject_id": hexed(scope.subject_id),
                **audience_columns(row.audience),
                "version": row.version,
                "position": row.position,
                "vector": row.vector,
            }
            for row in rows
            if row.position > held.get(row_id(row.memory_id, name), -1)
        ]
        self._insert([row for row in data if row["id"] not in held], name)
        if changed := [row for row in data if row["id"] in held]:
            self._milvus.call(
                self._collection,
                lambda client: client.upsert(self._collection, changed, partition_name=name, timeout=TIMEOUT_S),
            )
        return len(data)

    def _insert(self, rows: list[dict[str, Any]], name: str) -> None:
        """Write rows that are not there: for an upsert Lite would look for each in the whole collection."""
        if rows:
            self._milvus.call(
                self._collection,
                lambda client: client.insert(self._collection, rows, partition_name=name, timeout=TIMEOUT_S),
            )

    def _delete(self, scope: Scope, memory_ids: Collection[MemoryId]) -> int:
        deleted = 0
        # in every sibling, as another process may be writing one of them anew; what is counted are those that serve
        for number, name in enumerate(self._partitions.siblings(partition_of(scope))):
            for chunk in chunks(memory_ids):
                # Read within the scope, then delete by id: Lite would search the whole collection for any other filter.
                if held := list(self._held(scope, chunk, name)):
                    self._milvus.call(self._collection, partial(delete_ids, self._collection, name, held))
                deleted += len(held) if number == 0 else 0
        self._wrote(deleted)
        return deleted

    def _delete_whole(self, tenant: TenantId, subject: SubjectId | None) -> int:
        deleted = 0
        which = tenant_filter(tenant) if subject is None else scope_filter(tenant, subject)
        for name in self._partitions_of(tenant, subject):
            while held := self._milvus.call(self._collection, partial(some_ids, self._collection, name, which)):
                for chunk in chunks(held):
                    self._milvus.call(self._collection, partial(delete_ids, self._collection, name, chunk))
                    self._wrote(len(chunk))
                deleted += len(held)
                if len(held) < MOST:
                    break
        return deleted

    def _partitions_of(self, tenant: TenantId, subject: SubjectId | None) -> list[str]:
        if subject is None:
            return self._partitions.every()
        return self._partitions.siblings(partition_of(Scope(tenant_id=tenant, subject_id=subject)))

    def _begin(self, base: str) -> Iterator[list[str]] | None:
        """Make an empty sibling, which whatever is written from now on is written to as well; None without rows.

        Returns:
            the ids of the rows that are to move, so many at a time.
        """
        self._rewriting.pop(base, None)
        siblings = self._partitions.siblings(base)
        for each in siblings[1:]:  # of a rewriting that did not end
            self._partitions.drop(each)
        if not siblings:
            return None
        name = siblings[0]
        self._partitions.create(sibling := after(name))
        self._rewriting[base] = sibling
        every = "position >= 0"
        return iter(chunks(self._milvus.call(self._collection, partial(read_ids, self._collection, name, every))))

    def _move(self, base: str, wanted: list[str]) -> int:
        """Write rows into the sibling, where nothing newer is; return how many were still there."""
        name, sibling = self._partitions.siblings(base)
        batch = self._milvus.call(self._collection, partial(read_rows, self._collection, name, wanted))
        ids = {row["id"]: row_id(UUID(row["id"]), sibling) for row in batch}
        held = self._milvus.call(self._collection, partial(read_by_ids, self._collection, sibling, list(ids.values())))
        newer = {row["id"] for row in held}
        self._insert([row | {"id": ids[row["id"]]} for row in batch if ids[row["id"]] not in newer], sibling)
        self._wrote(len(batch))
        return len(batch)

    def _switch(self, base: str) -> None:
        """Let the sibling serve by dropping the partition; what was deleted while it moved does not come along."""
        name, sibling = self._partitions.siblings(base)
        every = "position >= 0"
        living = {
            UUID(each) for each in self._milvus.call(self._collection, partial(read_ids, self._collection, name, every))
        }
        there = self._milvus.call(self._collection, partial(read_ids, self._collection, sibling, every))
        for chunk in chunks(each for each in there if UUID(each) not in living):
            self._milvus.call(self._collection, partial(delete_ids, self._collection, sibling, chunk))
        self._flush()
        self._partitions.drop(name)
        del self._rewriting[base]

    def _search(self, scope: Scope, vector: NDArray[np.float32], limit: int) -> list[Hit]:
        answer_s = self._milvus.answer_s
        if (name := self._partitions.find(partition_of(scope), answer_s)) is None:
            return []
        try:
            hits = self._search_in(name, scope, vector, limit)
        except UnavailableError:  # as a cluster answers for a partition that is not there
            if not self._partitions.moved(name, answer_s):
                raise
            hits = []
        # Lite finds nothing in a partition that is not there
        if hits or not self._partitions.moved(name, answer_s):
            return hits
        return self._search(scope, vector, limit)

    def _search_in(self, name: str, scope: Scope, vector: NDArray[np.float32], limit: int) -> list[Hit]:
        with self._gate.shared():
            found = self._milvus.call(
                self._collection,
                lambda client: client.search(
                    self._collection,
                    data=[vector],
                    anns_field="vector",
                    filter=scope_filter(scope.tenant_id, scope.subject_id, reach=scope.reach),
                    partition_names=[name],
                    limit=limit,
                    output_fields=["version"],
                    search_params={"metric_type": "IP"},
                    timeout=self._milvus.answer_s,
                ),
            )[0]
        return [Hit(MemoryId(read_id(hit["id"])), hit["entity"]["version"], float(hit["distance"])) for hit in found]

    def _held(self, scope: Scope, memory_ids: Collection[MemoryId], name: str) -> dict[str, int]:
        """Read the positions of one person's rows in a partition, by the ids that they have there."""
        which = scope_filter(scope.tenant_id, scope.subject_id, memory_ids, upper=generation_of(name) % 2 == 1)
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
        self._partitions.forget()
        self._rewriting.clear()
        self._unflushed = 0

    def _check(self, vector: NDArray[np.float32]) -> None:
        if not comparable(vector, self._dimension):
            raise ValueError(f"the index compares float32 vectors of shape ({self._dimension},) and length 1")


def comparable(vector: NDArray[np.float32], dimension: int = DIMENSION) -> bool:
    """Say whether an index can compare this vector: float32, of its shape, of length 1."""
    return (
        vector.shape == (dimension,)
        and vector.dtype == np.float32
        and abs(float(vector @ vector) - 1) <= _OFF  # not a number is not
    )
