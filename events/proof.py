"""Inclusion and consistency proofs over the log's tree (RFC 9162 §2.1.3, §2.1.4): which hashes, and whether they hold.

A proof is made from stored complete subtrees, of which at most 2·log2(size) are read. Checking needs the proof only.
"""

from collections.abc import Iterable, Mapping, Sequence

from events.merkle import EMPTY_ROOT, fold, node_hash

Span = tuple[int, int]
"""The leaves from the first position up to, not including, the second."""
Place = tuple[int, int]
"""Level and index of a complete subtree."""
Proof = tuple[bytes, ...]


def inclusion_spans(index: int, size: int) -> list[Span]:
    """Name the subtrees whose hashes prove that leaf `index` is in a tree of `size` leaves (§2.1.3.1), lowest first."""
    if not 0 <= index < size:
        raise ValueError(f"leaf {index} is not in a tree of {size}")
    begin, end, spans = 0, size, []
    while end - begin > 1:
        middle = begin + _split(end - begin)
        if index < middle:
            spans.append((middle, end))
            end = middle
        else:
            spans.append((begin, middle))
            begin = middle
    return spans[::-1]


def consistency_spans(first: int, second: int) -> list[Span]:
    """Name the subtrees whose hashes prove that a tree of `second` leaves extends one of `first` (§2.1.4.1)."""
    if not 0 <= first <= second:
        raise ValueError(f"a tree of {second} leaves does not extend one of {first}")
    begin, end, spans = 0, second, list[Span]()
    while first not in {0, end}:
        middle = begin + _split(end - begin)
        if first <= middle:
            spans.append((middle, end))
            end = middle
        else:
            spans.append((begin, middle))
            begin = middle
    if begin:
        spans.append((begin, end))
    return spans[::-1]


def cover(spans: Iterable[Span]) -> list[Place]:
    """Name the complete subtrees that the hashes of these spans are made of."""
    return [place for span in spans for place in _pieces(span)]


def prove(spans: Iterable[Span], nodes: Mapping[Place, bytes]) -> Proof:
    """Make the proof from the hashes of the subtrees `cover` names.

    Raises:
        KeyError: one of them is missing.
    """
    return tuple(fold([nodes[place] for place in _pieces(span)]) for span in spans)


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Check that a leaf hash stands at `index` in the tree of that size and root (§2.1.3.2)."""
    if not 0 <= index < size:
        return False
    at, last, found = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            found = node_hash(sibling, found)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and found == root


def verify_consistency(first: int, second: int, proof: Sequence[bytes], first_root: bytes, second_root: bytes) -> bool:
    """Check that the tree of `second` leaves and that root extends the one of `first` (§2.1.4.2)."""
    if not 0 < first < second:
        trivial = (first == second and first_root == second_root) or (first == 0 and first_root == EMPTY_ROOT)
        return trivial and not proof and first <= second
    path = list(proof) if first & (first - 1) else [first_root, *proof]
    if not path:
        return False
    at, last = first - 1, second - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


def _split(size: int) -> int:
    """Return the largest power of two smaller than a size of two or more."""
    return 1 << (size - 1).bit_length() - 1


def _pieces(span: Span) -> list[Place]:
    begin, end = span
    places = []
    while begin < end:
        level = (end - begin).bit_length() - 1
        places.append((level, begin >> level))
        begin += 1 << level
    return places


def assemble(tiles: Mapping[Span, bytes], size: int) -> bytes:
    """Compute a root from hashes of subtrees that together hold every leaf once.

    Raises:
        KeyError: they do not.
    """

    def root(begin: int, end: int) -> bytes:
        if (begin, end) in tiles or end - begin == 1:
            return tiles[begin, end]
        middle = begin + _split(end - begin)
        return node_hash(root(begin, middle), root(middle, end))

    return root(0, size)


def tiles_of(frontier: Sequence[bytes], size: int) -> dict[Span, bytes]:
    """Say which leaves each hash of a compact range of that size stands for."""
    spans = [(index << level, index + 1 << level) for level, index in _pieces((0, size))]
    return dict(zip(spans, frontier, strict=True))
