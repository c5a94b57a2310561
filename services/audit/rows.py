"""What a check is given of a log, piece by piece, read from a database or from a bundle."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from events.proof import Place


@dataclass(frozen=True, slots=True)
class Row:
    """One event: its position, its canonical bytes, and the columns that repeat them (None in a bundle)."""

    position: int
    envelope: bytes
    columns: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """A body part that is there, by its digest."""

    event_id: UUID
    part: str
    tenant_id: UUID
    subject_id: UUID
    key_id: UUID
    digest: bytes


@dataclass(frozen=True, slots=True)
class Stores:
    """What only a database has beside the events: bodies, fences, and which tombstone stands behind each fence.

    `fences` are tenant and id; `stones` are those of them that a tombstone of that tenant really names as a key.
    """

    bodies: Sequence[Body] = ()
    fences: Collection[tuple[UUID, UUID]] = frozenset()
    stones: Collection[tuple[UUID, UUID]] = frozenset()


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next positions up to, not including, `end`: their rows and the stored nodes that they complete.

    A bundle has nodes of level 0 only, and `stores` is None.
    """

    end: int
    rows: Sequence[Row]
    nodes: Mapping[Place, bytes]
    stores: Stores | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The sealed tree as `log.head` says it."""

    size: int
    frontier: tuple[bytes, ...]
    root: bytes


def digest(ciphertext: bytes) -> bytes:
    """Digest a ciphertext as envelopes name it."""
    return sha256(ciphertext).digest()
