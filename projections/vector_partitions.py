"""Which partition of the vector index serves a person's rows (ADR 0019).

A delete leaves its bytes in the partition's files, until the living rows are written into a sibling and the partition
is dropped. Siblings are `p042`, `p042_1`, `p042_2` …: the oldest that exists serves, so the drop is the switch, and
whoever dies before it has changed nothing. Ids are in lower case in every second of them and in upper case in the rest,
as Milvus Lite hides a row as soon as another partition of the collection holds its id.
"""

from collections.abc import Iterable
from re import compile as pattern
from typing import Final
from uuid import UUID

from projections.milvus import TIMEOUT_S, Milvus
from projections.vector_scope import hexed

_NAME: Final = pattern(r"(p\d{3})(?:_(\d+))?")


def base_of(partition: str) -> str:
    """Return the name that a partition's siblings share; one that is not ours has none."""
    named = _NAME.fullmatch(partition)
    return partition if named is None else named[1]


def generation_of(partition: str) -> int:
    """Return how often it was written anew."""
    named = _NAME.fullmatch(partition)
    return 0 if named is None else int(named[2] or 0)


def after(partition: str) -> str:
    """Name the sibling that a partition is written into."""
    return f"{base_of(partition)}_{generation_of(partition) + 1}"


def row_id(memory: UUID, partition: str) -> str:
    """Write a memory's id as the rows of a partition have it."""
    return hexed(memory).upper() if generation_of(partition) % 2 else hexed(memory)


def serving(partitions: Iterable[str]) -> dict[str, str]:
    """Say which of these partitions serves, by the name that siblings share."""
    return {base_of(name): name for name in sorted(partitions, key=generation_of, reverse=True)}


class Partitions:
    """What a process knows of a collection's partitions; whatever is not there any more is looked for anew.

    Args:
        milvus: the connection.
        collection: its name.
    """

    def __init__(self, milvus: Milvus, collection: str) -> None:
        self._milvus = milvus
        self._collection = collection
        self._serving: dict[str, str] = {}

    def find(self, base: str, timeout_s: float = TIMEOUT_S) -> str | None:
        """Return the partition that serves; None where nobody's row was ever written to it."""
        if base not in self._serving:
            self._serving.update(serving(self.every(timeout_s)))
        return self._serving.get(base)

    def moved(self, partition: str, timeout_s: float) -> bool:
        """Say whether a partition was dropped for its sibling meanwhile, which `find` returns from now on."""
        there: bool = self._milvus.call(
            self._collection, lambda client: client.has_partition(self._collection, partition, timeout=timeout_s)
        )
        if not there:
            self._serving.pop(base_of(partition), None)
        return not there

    def make(self, base: str) -> str:
        """Return the partition that serves, made at its first row: all 256 at once would take two seconds."""
        if (found := self.find(base)) is not None:
            return found
        self.create(base)
        self._serving[base] = base
        return base

    def siblings(self, base: str) -> list[str]:
        """List every partition of this name, the one that serves first, as any process may have left them."""
        return sorted((name for name in self.every() if base_of(name) == base), key=generation_of)

    def every(self, timeout_s: float = TIMEOUT_S) -> list[str]:
        """List all that there are."""
        return list(
            self._milvus.call(
                self._collection, lambda client: client.list_partitions(self._collection, timeout=timeout_s)
            )
        )

    def create(self, partition: str) -> None:
        """Make one."""
        self._milvus.call(
            self._collection, lambda client: client.create_partition(self._collection, partition, timeout=TIMEOUT_S)
        )

    def drop(self, partition: str) -> None:
        """Drop one with its files; a cluster wants it released first, which Milvus Lite does not know."""
        if not self._milvus.is_lite:
            self._milvus.call(
                self._collection,
                lambda client: client.release_partitions(self._collection, [partition], timeout=TIMEOUT_S),
            )
        self._milvus.call(
            self._collection, lambda client: client.drop_partition(self._collection, partition, timeout=TIMEOUT_S)
        )
        self.forget()

    def forget(self) -> None:
        """Look for everything anew."""
        self._serving.clear()
