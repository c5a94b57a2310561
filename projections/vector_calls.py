"""Calls to Milvus for what `projections/vectors.py` does in a thread; each takes a client as its last argument."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, TypeVar

from events.model import Audience
from projections.milvus import TIMEOUT_S
from projections.milvus_client import DataType, MilvusClient

CHUNK: Final = 500
MOST: Final = 16_000
"""How many rows one query asks for: a cluster answers no more than 16,384."""
AUDIENCE: Final = tuple(Audience.model_fields)
"""The fields that say which readers a row is for."""

_FIELDS: Final = ["id", "tenant_id", "subject_id", *AUDIENCE, "version", "position", "vector"]

T = TypeVar("T")


def chunks(items: Iterable[T]) -> Iterable[list[T]]:
    """Take items so many at a time."""
    items = iter(items)
    while chunk := list(islice(items, CHUNK)):
        yield chunk


def make_collection(collection: str, dimension: int, client: MilvusClient) -> None:
    """Make a collection if it is not there, and load it."""
    if not client.has_collection(collection, timeout=TIMEOUT_S):
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=32)
        schema.add_field("tenant_id", DataType.VARCHAR, max_length=32)
        schema.add_field("subject_id", DataType.VARCHAR, max_length=32)
        for name in AUDIENCE:
            schema.add_field(name, DataType.VARCHAR, max_length=32)
        schema.add_field("version", DataType.INT64)
        schema.add_field("position", DataType.INT64)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
        index = client.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type="IP")
        client.create_collection(
            collection, schema=schema, index_params=index, consistency_level="Strong", timeout=TIMEOUT_S
        )
    client.load_collection(collection, timeout=TIMEOUT_S)


def delete_ids(collection: str, partition: str, ids: list[str], client: MilvusClient) -> None:
    """Delete rows by their ids."""
    client.delete(collection, ids=ids, partition_name=partition, timeout=TIMEOUT_S)


def read_ids(collection: str, partition: str, which: str, client: MilvusClient) -> list[str]:
    """Read the ids of the rows of a partition that pass a filter.

    One query says what an iterator of Milvus Lite needs half a second for, so that is left to partitions of more rows
    than one answer holds.
    """
    found = some_ids(collection, partition, which, client)
    if len(found) < MOST:
        return found
    rows = client.query_iterator(
        collection,
        filter=which,
        batch_size=CHUNK,
        partition_names=[partition],
        output_fields=["id"],
        consistency_level="Strong",
        timeout=TIMEOUT_S,
    )
    found = []
    while batch := rows.next():
        found += [row["id"] for row in batch]
    rows.close()
    return found


def some_ids(collection: str, partition: str, which: str, client: MilvusClient) -> list[str]:
    """Read the ids of at most `MOST` rows of a partition that pass a filter."""
    rows = client.query(
        collection,
        filter=which,
        partition_names=[partition],
        output_fields=["id"],
        limit=MOST,
        consistency_level="Strong",
        timeout=TIMEOUT_S,
    )
    return [row["id"] for row in rows]


def read_rows(collection: str, partition: str, ids: list[str], client: MilvusClient) -> list[dict[str, Any]]:
    """Read the rows of a partition under these ids, with everything that was written, as far as they are there."""
    found: list[dict[str, Any]] = client.get(
        collection, ids=ids, partition_names=[partition], output_fields=_FIELDS, timeout=TIMEOUT_S
    )
    return found


def read_by_ids(collection: str, partition: str, ids: list[str], client: MilvusClient) -> list[dict[str, Any]]:
    """Read which of these ids a partition holds."""
    if not ids:
        return []
    found: list[dict[str, Any]] = client.get(
        collection, ids=ids, partition_names=[partition], output_fields=["id"], timeout=TIMEOUT_S
    )
    return found
