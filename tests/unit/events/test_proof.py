import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.merkle import EMPTY_ROOT, Range, leaf_hash
from events.proof import (
    Proof,
    consistency_spans,
    cover,
    inclusion_spans,
    prove,
    verify_consistency,
    verify_inclusion,
)
from tests.unit.events.test_merkle import INPUTS, ROOTS, naive

# proofs over the eight well-known leaves that Certificate Transparency has published since RFC 6962
INCLUSION = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
CONSISTENCY = {
    (1, 1): [],
    (1, 8): INCLUSION[0, 8],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
entries = st.lists(st.binary(max_size=4), min_size=1, max_size=70)


def nodes_of(data: list[bytes]) -> dict[tuple[int, int], bytes]:
    return {(node.level, node.index): node.hash for node in Range().extend(map(leaf_hash, data))[1]}


def naive_path(index: int, data: list[bytes]) -> list[bytes]:
    """PATH(m, D_n) of RFC 9162 §2.1.3.1, word for word."""
    if len(data) == 1:
        return []
    k = 1
    while k * 2 < len(data):
        k *= 2
    if index < k:
        return [*naive_path(index, data[:k]), naive(data[k:])]
    return [*naive_path(index - k, data[k:]), naive(data[:k])]


def naive_subproof(first: int, data: list[bytes], *, known: bool) -> list[bytes]:
    """SUBPROOF(m, D_n, b) of RFC 9162 §2.1.4.1, word for word."""
    if first == len(data):
        return [] if known else [naive(data)]
    k = 1
    while k * 2 < len(data):
        k *= 2
    if first <= k:
        return [*naive_subproof(first, data[:k], known=known), naive(data[k:])]
    return [*naive_subproof(first - k, data[k:], known=False), naive(data[:k])]


def changed(proof: Proof, at: int, bit: int) -> Proof:
    flipped = bytearray(proof[at])
    flipped[bit // 8] ^= 1 << bit % 8
    return (*proof[:at], bytes(flipped), *proof[at + 1 :])


@pytest.mark.parametrize(("case", "published"), INCLUSION.items())
def test_the_published_inclusion_proofs(case: tuple[int, int], published: list[str]) -> None:
    """The well-known leaves have the published audit paths, and the paths verify against the published roots."""
    index, size = case
    proof = prove(inclusion_spans(index, size), nodes_of(INPUTS))
    assert [each.hex() for each in proof] == published
    assert verify_inclusion(leaf_hash(INPUTS[index]), index, size, proof, bytes.fromhex(ROOTS[size - 1]))


@pytest.mark.parametrize(("case", "published"), CONSISTENCY.items())
def test_the_published_consistency_proofs(case: tuple[int, int], published: list[str]) -> None:
    """The well-known trees have the published consistency proofs, and they verify against the published roots."""
    first, second = case
    proof = prove(consistency_spans(first, second), nodes_of(INPUTS))
    assert [each.hex() for each in proof] == published
    assert verify_consistency(first, second, proof, *(bytes.fromhex(ROOTS[size - 1]) for size in case))


@given(entries, st.data())
def test_inclusion_is_the_naive_path(data: list[bytes], draw: st.DataObject) -> None:
    """Made from stored subtrees, a path is the RFC's recursive one, reads few nodes, and verifies at its index only."""
    size = len(data)
    index = draw.draw(st.integers(0, size - 1))
    spans = inclusion_spans(index, size)
    proof = prove(spans, nodes_of(data))
    assert list(proof) == naive_path(index, data)
    assert len(cover(spans)) <= 2 * size.bit_length()
    root, leaf = naive(data), leaf_hash(data[index])
    assert verify_inclusion(leaf, index, size, proof, root)
    other = draw.draw(st.integers(-1, size))
    assert other == index or not verify_inclusion(leaf, other, size, proof, root) or data[other] == data[index]


@given(entries, st.data())
def test_consistency_is_the_naive_subproof(data: list[bytes], draw: st.DataObject) -> None:
    """Made from stored subtrees, a consistency proof is the RFC's recursive one, reads few nodes, and verifies."""
    second = len(data)
    first = draw.draw(st.integers(1, second))
    spans = consistency_spans(first, second)
    proof = prove(spans, nodes_of(data))
    assert list(proof) == naive_subproof(first, data, known=True)
    assert len(cover(spans)) <= 2 * second.bit_length()
    assert verify_consistency(first, second, proof, naive(data[:first]), naive(data))


@given(entries, st.data())
def test_a_proof_with_a_flipped_bit_does_not_verify(data: list[bytes], draw: st.DataObject) -> None:
    """No bit of a proof, of the leaf or of a root can change; nothing can be left out or added."""
    second = len(data)
    first = draw.draw(st.integers(1, second))
    nodes, root, leaf = nodes_of(data), naive(data), leaf_hash(data[first - 1])
    path, growth = prove(inclusion_spans(first - 1, second), nodes), prove(consistency_spans(first, second), nodes)
    at, bit = draw.draw(st.integers(0, 69)), draw.draw(st.integers(0, 255))
    for proof in (*([changed(path, at % len(path), bit), path[:-1]] if path else []), (*path, leaf)):
        assert not verify_inclusion(leaf, first - 1, second, proof, root)
    old = naive(data[:first])
    for proof in (*([changed(growth, at % len(growth), bit), growth[:-1]] if growth else []), (*growth, leaf)):
        assert not verify_consistency(first, second, proof, old, root)
    assert not verify_inclusion(changed((leaf,), 0, bit)[0], first - 1, second, path, root)
    assert not verify_consistency(first, second, growth, changed((old,), 0, bit)[0], root)
    assert not verify_consistency(first, second, growth, old, changed((root,), 0, bit)[0])


@given(entries, entries)
def test_a_log_that_was_rewritten_has_no_consistency_proof(data: list[bytes], other: list[bytes]) -> None:
    """The honest proof of one history does not lead to the root of another."""
    if other[: len(data)] != data:
        longer = data + other
        proof = prove(consistency_spans(len(data), len(longer)), nodes_of(longer))
        assert not verify_consistency(len(data), len(longer), proof, naive(data), naive([*other, *data, b"x"]))


def test_an_empty_tree_is_a_prefix_of_every_tree() -> None:
    """Growth from nothing needs no proof; shrinking has none."""
    root = bytes.fromhex(ROOTS[7])
    assert consistency_spans(0, 8) == []
    assert verify_consistency(0, 8, (), EMPTY_ROOT, root)
    assert not verify_consistency(0, 8, (), root, root)
    assert not verify_consistency(8, 7, (), root, root)


@pytest.mark.parametrize("ask", [lambda: inclusion_spans(8, 8), lambda: consistency_spans(9, 8)])
def test_what_is_not_in_the_tree_has_no_proof(ask: object) -> None:
    """A proof about leaves that are not there is refused."""
    assert callable(ask)
    with pytest.raises(ValueError, match="tree"):
        ask()
