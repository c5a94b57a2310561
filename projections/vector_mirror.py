"""The mirror of the vector index: built into a table, so that the index that serves is only read."""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Sequence
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import numpy as np
from pymilvus import MilvusClient

from events.envelope import StoredEvent
from events.model import MemoryId, Position, Scope, SubjectId, TenantId
from events.postgres import Connection
from projections.index import IndexReader
from projections.milvus import TIMEOUT_S, Milvus
from projections.mirror import Entry, Key, Pair
from projections.model_names import default_model
from projections.vector_calls import AUDIENCE
from projections.vector_index import follow, model_of
from projections.vector_partitions import row_id, serving
from projections.vector_scope import partition_of
from projections.vectors import Row, audience_columns

_BATCH: Final = 500
_FIELDS: Final = ["id", "tenant_id", "subject_id", *AUDIENCE, "version", "position", "vector"]
_TABLE: Final = "row"
_CREATE = """
create temporary table vector_mirror (
  partition text collate "C" not null, id text collate "C" not null, tenant_id text not null, subject_id text not null,
  project text not null, task text not null, assistant text not null, purpose text not null,
  version bigint not null, position bigint not null, vector bytea not null, primary key (partition, id)
) on commit drop
"""


class VectorsMirror:
    """Entries are read partition by partition, by id; vectors are compared by SHA-256 of their bytes."""

    def __init__(self, milvus: Milvus, index: IndexReader) -> None:
        self._milvus = milvus
        self._index = index
        self._model = default_model()

    async def begin(self, connection: Connection, place: str) -> None:
        """Make the table, empty."""
        self._model = await model_of(connection, place)
        await connection.execute(_CREATE)

    async def take(self, connection: Connection, events: Sequence[StoredEvent]) -> None:
        """Apply a batch as the index does."""
        await follow(_Side(connection), self._index, connection, events, self._model)

    async def built(self, connection: Connection, place: str) -> AsyncIterator[Entry]:
        """Read what was built."""
        del place
        query = "select * from vector_mirror order by partition, id"
        async for row in connection.cursor(query, prefetch=_BATCH):
            yield _entry(row["partition"], dict(row), row["vector"])

    async def live(self, connection: Connection, place: str) -> AsyncIterator[Entry]:
        """Read every partition of the collection, of none where it was never made or is lost.

        Lite may miss rows while it flushes.
        """
        del connection
        for partition, serves in sorted((await self._partitions(place)).items()):
            rows = await self._ask(place, lambda client, name=serves: _iterator(client, place, name))
            while batch := await self._ask(place, lambda _, rows=rows: rows.next()):
                for row in batch:
                    yield _entry(partition, row, _bytes(row))
            await self._ask(place, lambda _, rows=rows: rows.close())

    async def again(self, connection: Connection, place: str, entries: Sequence[Entry]) -> list[Pair]:
        """Read some entries once more, on both sides."""
        by_partition: dict[str, list[str]] = defaultdict(list)
        for entry in entries:
            by_partition[entry.key[0]].append(entry.key[1])
        built = await connection.fetch(
            "select m.* from vector_mirror m join unnest($1::text[], $2::text[]) as k(partition, id)"
            " using (partition, id)",
            [entry.key[0] for entry in entries],
            [entry.key[1] for entry in entries],
        )
        ours: dict[Key, Entry] = {
            (row["partition"], row["id"]): _entry(row["partition"], dict(row), row["vector"]) for row in built
        }
        theirs: dict[Key, Entry] = {}
        there = await self._partitions(place)
        for partition in by_partition.keys() & there.keys():
            ids = [_written(each, there[partition]) for each in by_partition[partition]]
            rows = await self._ask(place, lambda client, name=there[partition], ids=ids: _get(client, place, name, ids))
            found = (_entry(partition, row, _bytes(row)) for row in rows)
            theirs |= {entry.key: entry for entry in found}
        return [(theirs.get(entry.key), ours.get(entry.key)) for entry in entries]

    def written_at(self, entry: Entry) -> Position:
        """Return the position in the row."""
        return Position(int(str(entry.columns["position"])))

    async def _partitions(self, place: str) -> dict[str, str]:
        """Return the partitions that serve, by the names that are in the table."""

        def ask(client: MilvusClient) -> list[str]:
            if not client.has_collection(place, timeout=TIMEOUT_S):
                return []
            return list(client.list_partitions(place, timeout=TIMEOUT_S))

        return serving(await self._ask(place, ask))

    async def _ask(self, place: str, ask: Any) -> Any:  # noqa: ANN401 - pymilvus ships no types
        return await self._milvus.read(lambda: self._milvus.call(place, ask))


class _Side:
    """What `follow` writes to: a table of the caller's transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def upsert(self, rows: Sequence[Row]) -> int:
        """Write what is newer, by position, than what the table holds."""
        newest = {(row.scope, row.memory_id): row for row in sorted(rows, key=lambda row: row.position)}.values()
        await self._connection.execute(
            """insert into vector_mirror as m
               select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
                                    $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bytea[])
               on conflict (partition, id) do update set tenant_id = excluded.tenant_id,
                 subject_id = excluded.subject_id, project = excluded.project, task = excluded.task,
                 assistant = excluded.assistant, purpose = excluded.purpose,
                 version = excluded.version, position = excluded.position, vector = excluded.vector
                 where m.position < excluded.position""",
            [partition_of(row.scope) for row in newest],
            [row.memory_id.hex for row in newest],
            [row.scope.tenant_id.hex for row in newest],
            [row.scope.subject_id.hex for row in newest],
            *([audience_columns(row.audience)[name] for row in newest] for name in AUDIENCE),
            [row.version for row in newest],
            [row.position for row in newest],
            [_digest(row.vector) for row in newest],
        )
        return len(newest)

    async def delete(self, scope: Scope, memory_ids: Collection[MemoryId]) -> int:
        """Delete one person's rows of these memories."""
        gone = await self._connection.fetch(
            "delete from vector_mirror where partition = $1 and id = any($2::text[])"
            " and tenant_id = $3 and subject_id = $4 returning id",
            partition_of(scope),
            [memory.hex for memory in memory_ids],
            scope.tenant_id.hex,
            scope.subject_id.hex,
        )
        return len(gone)

    async def delete_whole(self, tenant: TenantId, subject: SubjectId | None) -> int:
        """Delete every row of a person, or of a tenant."""
        gone = await self._connection.fetch(
            "delete from vector_mirror where tenant_id = $1 and ($2::text is null or subject_id = $2) returning id",
            tenant.hex,
            None if subject is None else subject.hex,
        )
        return len(gone)


def _iterator(client: MilvusClient, collection: str, partition: str) -> Any:  # noqa: ANN401 - pymilvus ships no types
    return client.query_iterator(
        collection, batch_size=_BATCH, partition_names=[partition], output_fields=_FIELDS, timeout=TIMEOUT_S
    )


def _get(client: MilvusClient, collection: str, partition: str, ids: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get(
        collection, ids=ids, partition_names=[partition], output_fields=_FIELDS, timeout=TIMEOUT_S
    )
    return rows


def _digest(vector: Any) -> bytes:  # noqa: ANN401 - an array or the list a client returns
    return sha256(np.asarray(vector, dtype="<f4").tobytes()).digest()


def _bytes(row: dict[str, Any]) -> bytes:
    return _digest(row["vector"])


def _entry(partition: str, row: dict[str, Any], vector: bytes) -> Entry:
    memory = _uuid(row["id"])
    tenant = _uuid(row["tenant_id"])
    return Entry(
        table=_TABLE,
        key=(partition, row["id"].lower()),
        tenant_id="none" if tenant is None else str(tenant),
        id="no id of ours" if memory is None else str(memory),
        memory_id=None if memory is None else MemoryId(memory),
        columns={**{name: row[name] for name in _FIELDS[1:-1]}, "vector": vector},
    )


def _written(text: str, partition: str) -> str:
    """Return an id as the rows of a partition have it, if it is one."""
    memory = _uuid(text)
    return text if memory is None else row_id(memory, partition)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(hex=text)
    except ValueError:
        return None
