"""The Merkle tree over the log (RFC 9162 §2.1): hashing and the compact range a sealer extends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """Hash a leaf: SHA-256(0x00 ‖ data)."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash an inner node: SHA-256(0x01 ‖ left ‖ right)."""
    return sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Node:
    """A complete subtree of 2**level leaves, the index-th of its level."""

    level: int
    index: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Range:
    """The first `size` leaves, kept as the roots of their maximal complete subtrees, largest first."""

    size: int = 0
    frontier: tuple[bytes, ...] = ()

    def extend(self, leaves: Iterable[bytes]) -> tuple["Range", list[Node]]:
        """Append leaf hashes; return the new range and every node that became complete, leaves included."""
        frontier, size, nodes = list(self.frontier), self.size, []
        for leaf in leaves:
            level, index, current = 0, size, leaf
            nodes.append(Node(0, index, leaf))
            while index & 1:
                current = node_hash(frontier.pop(), current)
                level, index = level + 1, index >> 1
                nodes.append(Node(level, index, current))
            frontier.append(current)
            size += 1
        return Range(size, tuple(frontier)), nodes

    @property
    def root(self) -> bytes:
        """The Merkle tree hash of all leaves so far."""
        return fold(self.frontier)


def fold(frontier: Sequence[bytes]) -> bytes:
    """Fold complete subtrees, largest first, into one root."""
    if not frontier:
        return EMPTY_ROOT
    root = frontier[-1]
    for left in reversed(frontier[:-1]):
        root = node_hash(left, root)
    return root
