"""A raw look into the vector index, for proofs that something is gone.

It shares no code with `projections/vectors.py`, neither connection nor partitions nor filters: a fault there must not
blind the proof. Nothing here decides who may read; only the prober calls it.

Milvus Lite misses unflushed rows while it flushes. So flush after the delete and before the probe: what is still there
then lies in a file, and is not missed.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from events.errors import UnavailableError
from projections.milvus_client import NO_ANSWER, MilvusClient, MilvusException, code_of, connect

_FIELDS: Final = ["id", "tenant_id", "subject_id", "version", "position"]
_NOT_LOADED: Final = 101
_TIMEOUT_S: Final = 30.0
_AT_ONCE: Final = 250


@dataclass(frozen=True, slots=True)
class RawRow:
    """What lies in the index under an id, whoever it belongs to. `score` is the cosine where a vector was asked."""

    memory_id: UUID
    tenant_id: UUID
    subject_id: UUID
    version: int
    position: int
    score: float | None = None


class VectorProbe:
    """Raw reads of one collection over a connection of its own."""

    def __init__(self, uri: str, collection: str, token: str = "") -> None:
        self._uri, self._collection, self._token = uri, collection, token
        self._client: MilvusClient | None = None
        self._one_at_a_time = asyncio.Lock()

    async def by_ids(self, memories: Sequence[UUID]) -> list[RawRow]:
        """Return every row under one of these ids, in any partition, of any tenant."""
        before: list[str] | None = None
        rows: list[Any] = []
        # a partition that is written anew while this asks may take a row from where it is still asked to where it was
        while (there := await self._partitions()) != before:
            before, rows = there, []
            for start in range(0, len(memories), _AT_ONCE):
                rows += await self._ask(partial(self._get, _written(memories[start : start + _AT_ONCE], there)))
        return [_row(row) for row in rows]

    async def _partitions(self) -> list[str]:
        return sorted(await self._ask(lambda client: client.list_partitions(self._collection, timeout=_TIMEOUT_S)))

    def _get(self, ids: list[str], client: MilvusClient) -> Any:  # noqa: ANN401 - pymilvus ships no types
        return client.get(self._collection, ids=ids, output_fields=_FIELDS, timeout=_TIMEOUT_S)

    async def by_vector(
        self, vector: NDArray[np.float32], limit: int = 10, partitions: list[str] | None = None
    ) -> list[RawRow]:
        """Return the nearest rows of any tenant, best first; all partitions are slow at a million rows.

        Of a partition that is being written anew both the old and the new one are asked.
        """
        if partitions is not None:
            partitions = [name for name in await self._partitions() if name.split("_")[0] in partitions]
            if not partitions:
                return []
        hits = await self._ask(
            lambda client: client.search(
                self._collection,
                data=[vector],
                limit=limit,
                partition_names=partitions,
                output_fields=_FIELDS,
                search_params={"metric_type": "IP"},
                consistency_level="Strong",
                timeout=_TIMEOUT_S,
            )
        )
        return [_row(hit["entity"] | {"id": hit["id"]}, float(hit["distance"])) for hit in hits[0]]

    async def count(self, tenant_id: UUID | None = None, subject_id: UUID | None = None) -> int:
        """Count the rows of one person, of a tenant, or of everybody, in all partitions; slow at a million rows."""
        named = {name: each for name, each in (("tenant_id", tenant_id), ("subject_id", subject_id)) if each}
        if not all(re.fullmatch("[0-9a-f]{32}", each.hex) for each in named.values()):
            raise ValueError("ids are UUIDs")
        which = " and ".join(f"{name} in ['{each.hex}']" for name, each in named.items()) or "position >= 0"
        rows = await self._ask(
            lambda client: client.query(
                self._collection,
                filter=which,
                output_fields=["count(*)"],
                consistency_level="Strong",
                timeout=_TIMEOUT_S,
            )
        )
        return int(rows[0]["count(*)"])

    async def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            await asyncio.to_thread(self._client.close)

    async def _ask(self, ask: Callable[[MilvusClient], Any]) -> list[Any]:
        async with self._one_at_a_time:
            try:
                return list(await asyncio.to_thread(self._blocking, ask))
            except NO_ANSWER as error:
                # What could not be asked is not absent: the caller reports `cannot_prove`.
                raise UnavailableError(f"the vector probe got no answer (code {code_of(error)})") from None

    def _blocking(self, ask: Callable[[MilvusClient], Any]) -> Any:  # noqa: ANN401 - pymilvus ships no types
        if self._client is None:
            self._client = connect(self._uri, self._token, _TIMEOUT_S)
        try:
            return ask(self._client)
        except MilvusException as error:
            if error.code != _NOT_LOADED:
                raise
            self._client.load_collection(self._collection, timeout=_TIMEOUT_S)
            return ask(self._client)


def _written(memories: Sequence[UUID], partitions: Sequence[str]) -> list[str]:
    """Write ids as these partitions have them: every second time one is written anew it has them in upper case."""
    generations = {int(name.partition("_")[2]) % 2 for name in partitions if re.fullmatch(r"p\d+_\d+", name)}
    upper = [memory.hex.upper() for memory in memories] if 1 in generations else []
    return [*(memory.hex for memory in memories), *upper]


def _row(row: dict[str, Any], score: float | None = None) -> RawRow:
    return RawRow(
        UUID(row["id"]), UUID(row["tenant_id"]), UUID(row["subject_id"]), row["version"], row["position"], score
    )
