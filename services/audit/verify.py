"""The check of a log, position by position, as pure functions on what was read (R5).

Where stored bytes and the tree disagree, the check goes on with what the tree says, so that one fault is named once and
at its place instead of at every node above it. No fault at all therefore means that every hash was computed.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from uuid import UUID

from events import canon
from events.envelope import StoredEvent, stored
from events.errors import TamperError
from events.merkle import Node, Range, leaf_hash
from services.audit.displaced import Displaced
from services.audit.envelopes import body_faults, contradictions, fence_faults, receipt_holds
from services.audit.evidence import INDEPENDENT, Mark, Source
from services.audit.faults import Faults, Kind
from services.audit.rows import Body, Chunk, Head, Row, Stores

_NOTHING = bytes(32)


class Audit:
    """Takes a log chunk by chunk, in order of position, and finds what is wrong with it.

    Memory grows with the number of streams, not of events.

    Args:
        marks: signed heads, ordered by size; each is compared when its size is reached.
        faults: takes what is wrong.
        start: what lies before the first position: empty, or the proven range before a partial bundle.
    """

    def __init__(self, marks: Sequence[Mark], faults: Faults, start: Range | None = None) -> None:
        self.range = start or Range()
        self.start = self.range.size
        self.bodies = 0
        self.shredded = 0
        self.events = 0
        self.matched: list[Mark] = []
        self._marks = [mark for mark in marks if mark.size > self.start]
        self._next = 0
        self._forked: set[Source] = set()
        self._faults = faults
        self._displaced = Displaced(faults)
        self._versions: dict[tuple[UUID, str], int] = {}

    @property
    def size(self) -> int:
        """The position that comes next."""
        return self.range.size

    @property
    def independent(self) -> int:
        """How many events a matching checkpoint outside the database vouches for."""
        return max((mark.size for mark in self.matched if mark.source in INDEPENDENT), default=0)

    def take(self, chunk: Chunk) -> None:
        """Check the next positions."""
        bodies = _by_event(chunk.stores.bodies if chunk.stores else ())
        rows: dict[int, Row] = {}
        for row in chunk.rows:
            if row.position in rows or not self.size <= row.position < chunk.end:
                self._faults.add(Kind.INSERTED, row.position, "a second event claims this position")
            else:
                rows[row.position] = row
        for position in range(self.size, chunk.end):
            kept = chunk.nodes.get((0, position))
            row_here = rows.get(position)
            if row_here is None:
                self._faults.add(Kind.MISSING, position, "there is no event at this position")
                self._displaced.lacks(kept or _NOTHING)
                leaf = kept or _NOTHING
            else:
                leaf = self._row(row_here, kept, bodies, chunk.stores)
            self._extend(leaf, None if chunk.stores is None else chunk.nodes)
            self._compare()

    def finish(self, head: Head | None) -> None:
        """Compare with the head, if there is one, and with the checkpoints that reach further than the log."""
        self._displaced.explain()
        if head is not None and (head.root, head.frontier) != (self.range.root, self.range.frontier):
            self._faults.add(Kind.HEAD, None, "the head's root is not that of the stored tree")
        beyond = self._marks[self._next :]
        for source in sorted({mark.source for mark in beyond}):
            size = max(mark.size for mark in beyond if mark.source is source)
            what = f"{source} has a signed checkpoint of {size} events, but the log ends after {self.size}"
            self._faults.add(Kind.TRUNCATED, self.size, what)

    def _row(
        self, row: Row, kept: bytes | None, bodies: Mapping[UUID, Mapping[str, Body]], stores: Stores | None
    ) -> bytes:
        """Check one event; return the leaf to go on with."""
        self.events += 1
        computed = leaf_hash(row.envelope)
        columns = row.columns or {}
        if kept is None:
            self._faults.add(Kind.NODE, row.position, f"tree node (0, {row.position}) is missing")
        if columns.get("leaf", computed) != computed:
            column_only = kept == computed
            kind, what = (
                (Kind.COLUMN, "column leaf is not the hash of the envelope")
                if column_only
                else (Kind.CHANGED, "the envelope does not hash to its leaf")
            )
            self._faults.add(kind, row.position, what)
        elif kept not in {None, computed}:
            self._displaced.add(row.position, computed, kept or _NOTHING, repeated=self._stood(row))
            return kept or computed
        self._event(row, columns, bodies, stores)
        return kept or computed

    def _stood(self, row: Row) -> bool:
        with suppress(TamperError):
            event = stored(row.envelope, row.position)
            return event.version <= self._versions.get((event.scope.tenant_id, event.stream), 0)
        return False

    def _event(
        self,
        row: Row,
        columns: Mapping[str, object],
        bodies: Mapping[UUID, Mapping[str, Body]],
        stores: Stores | None,
    ) -> None:
        try:
            event = stored(row.envelope, row.position)
            document = canon.decode(row.envelope)[0]
        except TamperError as error:
            self._faults.add(Kind.FORM, row.position, str(error))
            return
        if canon.encode(document) + canon.trailer(event.version, event.recorded_at) != row.envelope:
            self._faults.add(Kind.FORM, row.position, "the envelope is not in canonical form")
        self._order(event, row.position)
        for name in contradictions(columns, event, document):
            self._faults.add(Kind.COLUMN, row.position, f"column {name} contradicts the envelope")
        if event.type == "erasure_verified" and not receipt_holds(event.document):
            self._faults.add(Kind.RECEIPT, row.position, "the signature of this deletion receipt does not hold")
        if stores is not None:
            there = bodies.get(event.event_id, {})
            self.bodies += len(there)
            self.shredded += sum(part.name not in there for part in event.parts)
            for kind, what in (*body_faults(event, there, stores.stones), *fence_faults(event, stores.fences)):
                self._faults.add(kind, row.position, what)

    def _order(self, event: StoredEvent, position: int) -> None:
        stream = (event.scope.tenant_id, event.stream)
        before = self._versions.get(stream, 0 if self.start == 0 else event.version - 1)
        if event.version != before + 1:
            kind = Kind.ORDER if event.version > before else Kind.REPEATED
            self._faults.add(kind, position, f"its stream goes from version {before} to {event.version}")
        self._versions[stream] = event.version

    def _extend(self, leaf: bytes, nodes: Mapping[tuple[int, int], bytes] | None) -> None:
        self.range, made = self.range.extend([leaf])
        wrong = next((node for node in made[1:] if nodes is not None and _kept(node, nodes) != node.hash), None)
        if wrong is not None and nodes is not None:
            first, last = wrong.index << wrong.level, (wrong.index + 1 << wrong.level) - 1
            what = f"tree node ({wrong.level}, {wrong.index}) over positions {first} to {last}"
            gone = _kept(wrong, nodes) is None
            self._faults.add(Kind.NODE, first, f"{what} is {'missing' if gone else 'not the hash of what is below it'}")
            top = _kept(made[-1], nodes)
            if top is not None:
                self.range = Range(self.range.size, (*self.range.frontier[:-1], top))

    def _compare(self) -> None:
        while self._next < len(self._marks) and self._marks[self._next].size == self.size:
            mark = self._marks[self._next]
            self._next += 1
            if mark.root == self.range.root:
                self.matched.append(mark)
            elif mark.source not in self._forked:
                self._forked.add(mark.source)
                sound = max((each.size for each in self.matched if each.source is mark.source), default=self.start)
                what = (
                    f"the checkpoint of {mark.size} events in {mark.source} is signed, but not over these events:"
                    f" positions {sound} to {mark.size - 1} are another history than the signed one"
                )
                self._faults.add(Kind.FORKED, sound, what)


def _kept(node: Node, nodes: Mapping[tuple[int, int], bytes]) -> bytes | None:
    return nodes.get((node.level, node.index))


def _by_event(bodies: Sequence[Body]) -> dict[UUID, dict[str, Body]]:
    found: dict[UUID, dict[str, Body]] = {}
    for body in bodies:
        found.setdefault(body.event_id, {})[body.part] = body
    return found
