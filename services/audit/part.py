"""The proofs of a part of a log: its events lie in the signed tree, and the checkpoints extend each other (RFC 9162).

The inclusion proof of the first event holds every subtree before it, that of the last every subtree behind it; with the
leaves between them they make the whole root, so that two proofs prove every event of the part.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from events.merkle import Range
from events.proof import Place, Proof, assemble, inclusion_spans, tiles_of, verify_consistency, verify_inclusion
from services.audit.bundle import Manifest, Proofs
from services.audit.evidence import Mark
from services.audit.faults import Faults, Kind

_NOTHING = bytes(32)


class Part:
    """Proves the positions of a manifest under the checkpoint it names."""

    def __init__(self, manifest: Manifest, proofs: Proofs) -> None:
        self._first, self._end, self._size = manifest.first, manifest.end, manifest.proven_by or 0
        self._of_first, self._of_last = _hashes(proofs.inclusion_of_first), _hashes(proofs.inclusion_of_last)
        self._growths = {(each.first, each.second): _hashes(each.proof) for each in proofs.consistency}
        self._last = _NOTHING
        self._astray = f"the inclusion proof does not lead to the checkpoint of {self._size} events"

    @property
    def before(self) -> Range:
        """What lies before the part, as the proof of its first event says it; nothing is proven yet."""
        left = [each for each, (_, end) in self._along(self._first, self._of_first) if end <= self._first]
        count = self._first.bit_count()
        return Range(self._first, tuple([*left, *[_NOTHING] * count][:count][::-1]))

    def see(self, nodes: Mapping[Place, bytes]) -> None:
        """Remember the leaf of the last event."""
        self._last = nodes.get((0, self._end - 1), self._last)

    def begins(self, leaf: bytes, marks: Sequence[Mark], faults: Faults) -> bool:
        """Check that the first event lies in the signed tree, without which nothing about the part can be said."""
        root = {mark.size: mark.root for mark in marks}.get(self._size)
        if root is None or not self._first < self._end <= self._size:
            faults.add(Kind.PROOF, self._first, f"no checkpoint of {self._size} events is there to prove these by")
        elif not verify_inclusion(leaf, self._first, self._size, self._of_first, root):
            faults.add(Kind.PROOF, self._first, self._astray)
        else:
            return True
        return False

    def prove(self, reached: Range, marks: Sequence[Mark], faults: Faults) -> list[Mark]:
        """Check every other proof against the signed roots; return the checkpoints that hold.

        Args:
            reached: the range up to the last event.
            marks: all signed heads, ordered by size.
            faults: takes what is wrong.
        """
        roots: dict[int, bytes] = {}
        for mark in marks:
            if roots.setdefault(mark.size, mark.root) != mark.root:
                faults.add(Kind.FORKED, self._first, f"two different roots of {mark.size} events are validly signed")
        if wrong := self._outside(reached, roots[self._size]):
            faults.add(Kind.PROOF, wrong[0], wrong[1])
            return []
        sound = {self._size}
        sizes = sorted(roots)
        for earlier, later in pairwise(sizes):
            within = self._first < earlier and later <= self._end
            proof = self._growths.get((earlier, later))
            if proof is not None and verify_consistency(earlier, later, proof, roots[earlier], roots[later]):
                sound |= {earlier, later}
            elif not within:
                what = f"nothing proves that the checkpoint of {later} events extends the one of {earlier}"
                faults.add(Kind.PROOF, min(earlier, self._end), what)
        return [mark for mark in marks if mark.size in sound]

    def _outside(self, reached: Range, root: bytes) -> tuple[int, str] | None:
        if not verify_inclusion(self._last, self._end - 1, self._size, self._of_last, root):
            return self._end - 1, self._astray
        behind = {span: each for each, span in self._along(self._end - 1, self._of_last) if span[0] >= self._end}
        if reached.size != self._end:
            return reached.size, "the part ends before its last event"
        if assemble({**tiles_of(reached.frontier, reached.size), **behind}, self._size) != root:
            return self._first, f"these events are not those of the checkpoint of {self._size} events"
        return None

    def _along(self, position: int, proof: Proof) -> list[tuple[bytes, tuple[int, int]]]:
        if not 0 <= position < self._size:
            return []
        return list(zip(proof, inclusion_spans(position, self._size), strict=False))


def _hashes(proof: Sequence[str]) -> Proof:
    return tuple(bytes.fromhex(each) for each in proof)
