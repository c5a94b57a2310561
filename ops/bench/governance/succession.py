"""How well a later statement finds what it replaces: the fit behind `succession` in policy.yaml.

    python -m ops.bench.governance.succession

Every remark of `succession.tsv` is compared with every memory of its part. A hit is right where the remark was written
as a change of that memory. Logistic regression (iteratively reweighted least squares, ridge); of the pairs that nobody
wrote as such, which all are misses, each counts little. Prints weights, and what a threshold finds in either part.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projections.embedding import Embedder
from services.governance.policy import shipped_policy
from services.remembering.succession import FEATURES, barred, features, likelihood

_LINES = Path(__file__).with_suffix(".tsv")
_RIDGE = 0.3
_CROSSED = 0.15  # the weight of a pair of a remark and a memory of another block
_STEPS = 40

Vector = NDArray[np.float64]


class Block(NamedTuple):
    """What a memory says, and what is said later: whether it replaces it, and the words."""

    part: str
    content: str
    value: str
    remarks: tuple[tuple[bool, str], ...]


class Pair(NamedTuple):
    """A remark and a memory: of one block or not, whether the one replaces the other, and the features."""

    part: str
    own: bool
    right: bool
    remark: str
    content: str
    found: dict[str, float]


def blocks() -> list[Block]:
    """Read the file."""
    read: list[Block] = []
    for line in _LINES.read_text("utf-8").splitlines():
        mark, *cells = line.split("\t")
        if mark == "M":
            read.append(Block(cells[0], cells[1], cells[2] if len(cells) > 2 else cells[1], ()))  # noqa: PLR2004 - the columns
        elif mark in {"+", "-"}:
            read[-1] = read[-1]._replace(remarks=(*read[-1].remarks, (mark == "+", cells[0])))
    return read


def pairs(read: Sequence[Block], embedder: Embedder) -> list[Pair]:
    """Compare every remark with every memory of its part."""
    texts = list(dict.fromkeys(text for block in read for text in (block.content, *(r for _, r in block.remarks))))
    vectors = dict(zip(texts, embedder.passages(texts), strict=True))
    return [
        Pair(
            block.part,
            own=block is other,
            right=right and block is other,
            remark=remark,
            content=other.content,
            found=features(remark, other.content, other.value, float(vectors[remark] @ vectors[other.content])),
        )
        for block in read
        for right, remark in block.remarks
        for other in read
        if other.part == block.part
    ]


def fitted(some: Sequence[Pair]) -> dict[str, float]:
    """Return the weights that fit some pairs best."""
    some = [pair for pair in some if not barred(pair.found)]
    rows = np.array([[1.0, *(pair.found[name] for name in FEATURES)] for pair in some])
    right = np.array([pair.right for pair in some], dtype=np.float64)
    weight = np.array([1.0 if pair.own else _CROSSED for pair in some])
    ridge = _RIDGE * np.diag([0.0, *np.ones(len(FEATURES))])
    found: Vector = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weight * (chance - right)) + ridge @ found
        curve = (rows * (weight * chance * (1 - chance))[:, None]).T @ rows + ridge + 1e-9 * np.eye(len(found))
        found = found - np.linalg.solve(curve, slope)
    return {name: round(float(value), 2) for name, value in zip(("bias", *FEATURES), found, strict=True)}


def _main() -> None:
    embedder = Embedder()
    try:
        measured = pairs(blocks(), embedder)
    finally:
        embedder.close()
    print(fitted([pair for pair in measured if pair.part == "fit"]))
    policy = shipped_policy().succession
    for part in ("fit", "held"):
        some = [(pair, likelihood(pair.found, policy.weights)) for pair in measured if pair.part == part]
        above = [pair for pair, chance in some if chance >= policy.threshold]
        right, own = sum(pair.right for pair in above), sum(pair.own and not pair.right for pair in above)
        wanted, written = sum(pair.right for pair, _ in some), sum(pair.own for pair, _ in some)
        print(f"{part} from {policy.threshold} on: {right} of {wanted}, wrong {own} of {written - wanted} as written")


if __name__ == "__main__":
    _main()
