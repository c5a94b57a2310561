"""What can be wrong with a log: kinds with names that stay, and where."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The kind of a fault. The values are written to JSON and are part of the interface."""

    KEY_CHAIN = "key_chain"
    """A signing key that no predecessor introduced, or a first key that is not the pinned one."""
    CHECKPOINT = "checkpoint"
    """Something that is no checkpoint of this log."""
    SIGNATURE = "signature"
    """A checkpoint without the signature of the key in force at its size."""
    COPY = "copy"
    """A checkpoint that the log or the second place should have and has not."""
    COSIGNATURE = "cosignature"
    """A witness's line that does not hold."""
    FORKED = "forked"
    """Our key signed another history than the one that is there."""
    TRUNCATED = "truncated"
    """Our key signed more events than there are."""
    PROOF = "proof"
    """An inclusion or consistency proof that does not lead to the signed root."""
    MISSING = "missing"
    """A position without an event."""
    CHANGED = "changed"
    """Other bytes than were sealed at this position."""
    MOVED = "moved"
    """An event that was sealed at another position."""
    REMOVED = "removed"
    """The event sealed at this position is nowhere; others have moved up."""
    INSERTED = "inserted"
    """An event that was never sealed."""
    REPEATED = "repeated"
    """An event that stands at another position already."""
    ORDER = "order"
    """A stream that skips a version or goes back."""
    FORM = "form"
    """Bytes that are no envelope in canonical form."""
    COLUMN = "column"
    """A column, which queries go by, that contradicts the canonical bytes."""
    BODY_MISSING = "body_missing"
    """A body that is gone although no tombstone or expiry names its key."""
    BODY_CHANGED = "body_changed"
    """A ciphertext that is not the one the envelope names."""
    BODY_UNKNOWN = "body_unknown"
    """A body that no envelope names."""
    FENCE = "fence"
    """A tombstone or expiry whose ids are not fenced: what it names could be read again."""
    NODE = "node"
    """A stored tree node that is not the hash of what is below it."""
    HEAD = "head"
    """A head that is not that of these events."""
    UNSEALED = "unsealed"
    """Events that have no position and wait for none."""
    RECEIPT = "receipt"
    """A deletion receipt whose signature does not hold."""
    BUNDLE = "bundle"
    """A bundle that is not in the form it claims."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that contradicts what was sealed or signed; `position` is None where it concerns the whole log."""

    kind: Kind
    position: int | None
    what: str

    def __str__(self) -> str:
        where = "log" if self.position is None else f"position {self.position}"
        return f"{where}: {self.kind}: {self.what}"


class Faults:
    """Collects faults; of very many only the first are kept, and all are counted."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self._kept: list[Fault] = []
        self.total = 0

    def add(self, kind: Kind, position: int | None, what: str) -> None:
        """Note a fault."""
        self.total += 1
        if len(self._kept) < self._most:
            self._kept.append(Fault(kind, position, what))

    def in_order(self) -> list[Fault]:
        """Return those that were kept: the keys, on which everything rests, then by position, then of the whole log."""
        return sorted(self._kept, key=_order)


def _order(fault: Fault) -> tuple[bool, bool, int]:
    return fault.kind is not Kind.KEY_CHAIN, fault.position is None, fault.position or 0
