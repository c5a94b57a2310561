from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.merkle import EMPTY_ROOT, Range, fold, leaf_hash, node_hash

# the eight leaf inputs and the roots of their prefixes that Certificate Transparency has published since RFC 6962
INPUTS = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def naive(entries: list[bytes]) -> bytes:
    """MTH of RFC 9162 §2.1.1, word for word."""
    if not entries:
        return sha256(b"").digest()
    if len(entries) == 1:
        return sha256(b"\x00" + entries[0]).digest()
    k = 1
    while k * 2 < len(entries):
        k *= 2
    return sha256(b"\x01" + naive(entries[:k]) + naive(entries[k:])).digest()


@pytest.mark.parametrize("size", range(1, 9))
def test_the_published_roots(size: int) -> None:
    """The first n well-known leaves have the published root."""
    tree, _ = Range().extend(map(leaf_hash, INPUTS[:size]))
    assert tree.root.hex() == ROOTS[size - 1]


def test_an_empty_tree_has_the_hash_of_nothing() -> None:
    """The empty tree's root is SHA-256 of the empty string."""
    assert Range().root == EMPTY_ROOT == fold(()) == sha256(b"").digest()


@given(st.lists(st.binary(max_size=8), max_size=70), st.lists(st.integers(0, 20), max_size=8))
def test_the_range_is_the_naive_tree(entries: list[bytes], cuts: list[int]) -> None:
    """However the leaves arrive in batches, the root is the RFC's and the range holds one root a bit of its size."""
    tree, rest = Range(), list(entries)
    for cut in [*cuts, len(entries)]:
        batch, rest = rest[:cut], rest[cut:]
        tree, _ = tree.extend(map(leaf_hash, batch))
    assert tree.size == len(entries)
    assert len(tree.frontier) == len(entries).bit_count()
    assert tree.root == naive(entries)


@given(st.lists(st.binary(max_size=4), max_size=70), st.integers(0, 70))
def test_every_complete_subtree_is_given_out_once(entries: list[bytes], cut: int) -> None:
    """Over two batches each complete subtree appears exactly once, with the hash of the leaves below it."""
    leaves = [leaf_hash(entry) for entry in entries]
    first, before = Range().extend(leaves[:cut])
    _, after = first.extend(leaves[cut:])
    nodes = {(node.level, node.index): node.hash for node in (*before, *after)}
    assert len(nodes) == len(before) + len(after)
    complete = {(level, i) for level in range(8) for i in range(len(entries) >> level)}
    assert nodes.keys() == complete
    for (level, index), value in nodes.items():
        assert value == naive(entries[index << level : (index + 1) << level])


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=40), st.data())
def test_a_flipped_bit_changes_the_root(entries: list[bytes], data: st.DataObject) -> None:
    """No leaf can change by a bit without changing the root."""
    leaves = [leaf_hash(entry) for entry in entries]
    at, bit = data.draw(st.integers(0, len(leaves) - 1)), data.draw(st.integers(0, 255))
    flipped = bytearray(leaves[at])
    flipped[bit // 8] ^= 1 << bit % 8
    changed = [*leaves[:at], bytes(flipped), *leaves[at + 1 :]]
    assert Range().extend(changed)[0].root != Range().extend(leaves)[0].root


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_leaves_and_nodes_cannot_be_confused(left: bytes, right: bytes) -> None:
    """A leaf of two hashes is not the node above them (second-preimage protection of RFC 9162 §2.1)."""
    assert leaf_hash(left + right) != node_hash(left, right)
