"""The check of a sealed log, position by position, as pure functions on what was read (R5)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from events import canon
from events.envelope import StoredEvent, stored
from events.errors import TamperError
from events.merkle import Node, Range, leaf_hash
from events.model import KeyId, Position, TenantId

Place = tuple[int, int]
"""Level and index of a node of the tree."""


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
class Row:
    """One sealed event as its row says it: the columns that repeat the envelope, the envelope, the stored leaf."""

    position: int
    tenant_id: UUID
    subject_id: UUID
    stream: str
    version: int
    event_id: UUID
    command_id: UUID
    ordinal: int
    type: str
    schema_version: int
    occurred_at: datetime
    recorded_at: datetime
    envelope: bytes
    leaf: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """The sealed tree as `log.head` says it."""

    size: int
    frontier: tuple[bytes, ...]
    root: bytes


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that contradicts what was sealed; `position` is None where it concerns the whole log."""

    position: Position | None
    what: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows with what belongs to them: their bodies, which of their keys are fenced, the tree's nodes."""

    rows: Sequence[Row]
    bodies: Sequence[Body] = ()
    fenced: Collection[tuple[TenantId, KeyId]] = frozenset()
    nodes: Mapping[Place, bytes] = field(default_factory=dict)


class Audit:
    """Takes a log from position 0 on, chunk by chunk, and finds what is wrong with it."""

    def __init__(self) -> None:
        self._range = Range()
        self._versions: dict[tuple[UUID, str], int] = {}
        self.bodies = 0
        self.shredded = 0

    @property
    def size(self) -> int:
        """How many positions were taken."""
        return self._range.size

    def take(self, chunk: Chunk) -> list[Fault]:
        """Check the next rows; return what is wrong, in order of position."""
        faults: list[Fault] = []
        by_event: dict[UUID, dict[str, Body]] = {}
        for body in chunk.bodies:
            by_event.setdefault(body.event_id, {})[body.part] = body
        for row in chunk.rows:
            position = Position(row.position)
            wrong = self._order(row) + self._row(row, by_event.get(row.event_id, {}), chunk.fenced)
            self._range, nodes = self._range.extend([leaf_hash(row.envelope)])
            faults += [Fault(position, what) for what in (*wrong, *_nodes(nodes, chunk.nodes))]
        return faults

    def finish(self, head: Head) -> list[Fault]:
        """Compare with the head; return what is wrong."""
        if head.size != self.size:
            return [Fault(Position(min(head.size, self.size)), f"the head says {head.size} events, not {self.size}")]
        if head.root != self._range.root or head.frontier != self._range.frontier:
            return [Fault(None, "the Merkle root of these events is not the head's")]
        return []

    def _order(self, row: Row) -> list[str]:
        faults = []
        if row.position != self.size:
            faults.append(f"the position that follows should be {self.size}")
        before = self._versions.get((row.tenant_id, row.stream), 0)
        if row.version != before + 1:
            faults.append(f"its stream goes from version {before} to {row.version}")
        self._versions[row.tenant_id, row.stream] = row.version
        return faults

    def _row(self, row: Row, bodies: Mapping[str, Body], fenced: Collection[tuple[TenantId, KeyId]]) -> list[str]:
        faults = []
        if leaf_hash(row.envelope) != row.leaf:
            faults.append("the envelope does not hash to its leaf")
        try:
            event = stored(row.envelope, row.position)
            document = canon.decode(row.envelope)[0]
        except TamperError as error:
            return [*faults, str(error)]
        if canon.encode(document) + canon.trailer(event.version, event.recorded_at) != row.envelope:
            faults.append("the envelope is not in canonical form")
        faults += [f"column {name} contradicts the envelope" for name in _contradictions(row, event, document)]
        faults += _bodies(event, bodies, fenced)
        self.bodies += len(bodies)
        self.shredded += len(event.parts) - sum(part.name in bodies for part in event.parts)
        return faults


def _contradictions(row: Row, event: StoredEvent, document: Mapping[str, object]) -> list[str]:
    said: dict[str, object] = {
        "tenant_id": event.scope.tenant_id,
        "subject_id": event.scope.subject_id,
        "stream": event.stream,
        "version": event.version,
        "event_id": event.event_id,
        "command_id": event.command_id,
        "ordinal": document.get("ordinal"),
        "type": event.type,
        "schema_version": event.schema_version,
        "occurred_at": event.occurred_at,
        "recorded_at": event.recorded_at,
    }
    return [name for name, value in said.items() if getattr(row, name) != value]


def _bodies(event: StoredEvent, bodies: Mapping[str, Body], fenced: Collection[tuple[TenantId, KeyId]]) -> list[str]:
    faults = [f"body part {name} is in no envelope" for name in bodies.keys() - {part.name for part in event.parts}]
    for part in event.parts:
        body = bodies.get(part.name)
        if body is None:
            if (event.scope.tenant_id, part.key_id) not in fenced:
                faults.append(f"body part {part.name} is gone and no tombstone or expiry names its key")
        elif body.digest != part.digest:
            faults.append(f"body part {part.name} is not the one its envelope names")
        elif (body.tenant_id, body.subject_id, body.key_id) != (
            event.scope.tenant_id,
            event.scope.subject_id,
            part.key_id,
        ):
            faults.append(f"a column of body part {part.name} contradicts the envelope")
    return faults


def _nodes(computed: Sequence[Node], kept: Mapping[Place, bytes]) -> list[str]:
    wrong = [f"({node.level}, {node.index})" for node in computed if kept.get((node.level, node.index)) != node.hash]
    return [f"tree node {', '.join(wrong)} is not the hash of what is below it"] if wrong else []


def digest(ciphertext: bytes) -> bytes:
    """Digest a ciphertext as envelopes name it."""
    return sha256(ciphertext).digest()
