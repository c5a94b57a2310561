"""How well upkeep tells memories that say one thing from those that nearly do: the fit behind `merge` in upkeep.yaml.

    python -m ops.bench.governance.merging

Prints for each part and language how many pairs of either sort would be merged, and the cosines of those whose words
agree; a pair that would be merged wrongly is named.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from events.model import Assertion, Kind, MemoryBody
from projections.embedding import Embedder
from services.governance.merging import says_the_same
from services.upkeep.rules import shipped_rules

_LINES = Path(__file__).with_suffix(".tsv")


class Pair(NamedTuple):
    """Two memories, whether they say one thing, whether their words agree, and how close their vectors are."""

    part: str
    chinese: bool
    same: bool
    agree: bool
    closeness: float
    texts: tuple[str, str]


def pairs(embedder: Embedder) -> list[Pair]:
    """Read and measure the file."""
    read = [line.split("\t") for line in _LINES.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    found = []
    for part, sort, one, other in read:
        here, there = embedder.passages([one, other])
        agree = says_the_same(_stated(one), _stated(other))
        found.append(Pair(part, not one.isascii(), sort == "same", agree, float(here @ there), (one, other)))
    return found


def merged(found: Sequence[Pair], threshold: float) -> list[Pair]:
    """Return the pairs that upkeep would merge."""
    return [pair for pair in found if pair.agree and pair.closeness >= threshold]


def _stated(text: str) -> MemoryBody:
    return MemoryBody(kind=Kind.FACT, key=None, value=text, content=text, evidence=(), assertion=Assertion.STATED)


def _main() -> None:
    threshold = shipped_rules().merge.closeness
    embedder = Embedder()
    try:
        found = pairs(embedder)
    finally:
        embedder.close()
    for part in ("fit", "held"):
        for chinese, name in ((True, "zh"), (False, "en")):
            own = [pair for pair in found if pair.part == part and pair.chinese is chinese]
            same = [pair for pair in own if pair.same]
            right = [pair for pair in merged(own, threshold) if pair.same]
            wrong = [pair for pair in merged(own, threshold) if not pair.same]
            least = min((pair.closeness for pair in same if pair.agree), default=0.0)
            most = max(pair.closeness for pair in own if not pair.same)
            print(
                f"{part} {name}: merged {len(right)} of {len(same)} that say one thing (closeness from {least:.2f}),"
                f" {len(wrong)} of {len(own) - len(same)} that do not (closeness up to {most:.2f})"
            )
            for pair in wrong:
                print(f"  wrong {pair.closeness:.2f}  {pair.texts[0]} | {pair.texts[1]}")


if __name__ == "__main__":
    _main()
