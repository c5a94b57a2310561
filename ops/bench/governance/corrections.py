"""How well a newer statement without a key finds what it corrects: the fit behind `renewal` in policy.yaml.

    python -m ops.bench.governance.corrections

Every change is compared with every statement of its language. A hit is right where it is the statement that the change
was written for. Prints, by language, the threshold that the fit part asks for, and what it finds in each part.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from events.model import Assertion, Kind, MemoryBody
from projections.embedding import Embedder
from services.governance.policy import shipped_policy
from services.governance.renewal import could_renew

_LINES = Path(__file__).with_suffix(".tsv")
_PRECISION = 0.95


class Hit(NamedTuple):
    """A statement that a change could correct by its words, and whether it is the one it was written for."""

    part: str
    chinese: bool
    similarity: float
    right: bool
    change: str
    statement: str


class Figures(NamedTuple):
    """What a threshold finds."""

    found: int
    right: int


def lines() -> list[list[str]]:
    """Read the file: of each line its part, a statement, a change of it, a change of another thing, another respect."""
    return [line.split("\t") for line in _LINES.read_text("utf-8").splitlines() if line and not line.startswith("#")]


def hits(read: Sequence[Sequence[str]], embedder: Embedder) -> list[Hit]:
    """Compare every change with every statement of its language and keep what the words allow."""
    texts = [text for line in read for text in line[1:]]
    vectors = dict(zip(texts, embedder.passages(texts), strict=True))
    statements = [(index, column, line[column]) for index, line in enumerate(read) for column in (1, 4)]
    return [
        Hit(
            part=line[0],
            chinese=not line[1].isascii(),
            similarity=float(vectors[line[column]] @ vectors[text]),
            right=(column, at, place) == (2, index, 1),
            change=line[column],
            statement=text,
        )
        for (index, line), column, (at, place, text) in product(enumerate(read), (2, 3), statements)
        if could_renew(_stated(line[column]), _stated(text))
    ]


def figures(found: Sequence[Hit], threshold: float) -> Figures:
    """Count what a threshold finds among hits of one half and language."""
    above = [hit for hit in found if hit.similarity >= threshold]
    return Figures(len(above), sum(hit.right for hit in above))


def fitted(found: Sequence[Hit]) -> float:
    """Return the lowest threshold, in hundredths, from which on the hits are right often enough."""
    steps = (step / 100 for step in range(30, 100))
    return next(step for step in steps if (counts := figures(found, step)).right >= _PRECISION * counts.found)


def _stated(text: str) -> MemoryBody:
    return MemoryBody(kind=Kind.FACT, key=None, value=text, content=text, evidence=(), assertion=Assertion.STATED)


def _main() -> None:
    read, policy = lines(), shipped_policy().renewal
    embedder = Embedder()
    try:
        found = hits(read, embedder)
    finally:
        embedder.close()
    for chinese, name, shipped in ((True, "zh", policy.zh), (False, "en", policy.en)):
        for part in ("fit", "held", "blind", "last"):
            wanted = sum(line[1].isascii() is not chinese and line[0] == part for line in read)
            half = [hit for hit in found if hit.chinese is chinese and hit.part == part]
            fit = f"; fitted {fitted(half)}" if part == "fit" else ""
            print(f"{name} {part} at {shipped}: {figures(half, shipped)} of {wanted}{fit}")
            for hit in half:
                if not hit.right:
                    verdict = "wrong" if hit.similarity >= shipped else "kept apart"
                    print(f"  {hit.similarity:.2f} {verdict}  {hit.change} | {hit.statement}")


if __name__ == "__main__":
    _main()
