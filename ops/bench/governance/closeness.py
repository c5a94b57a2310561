"""What closeness of vectors alone could decide, and why nothing of it is shipped: duplicates and semantic keys.

    python -m ops.bench.governance.closeness

Duplicates: pairs of statements without a key, of which only those may say the same whose polarity, numbers, negations
and Latin names agree (`sameness.near_value`). Keys: a sentence takes the key whose name in its language is nearest.
For each, the lowest threshold that is right often enough on the fit half, and its precision and recall on either half.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from events.model import Claim, Kind
from projections.embedding import Embedder
from services.extraction.vocabulary import vocabulary
from services.governance.sameness import near_value

_PRECISION = 0.95
_SAME = (0, 1, 2)  # columns of a line that say the same


class Guess(NamedTuple):
    """One guess of the held or the fit half, how close the vectors are, and whether it is right."""

    group: str
    held: bool
    similarity: float
    right: bool


def _lines(name: str) -> list[list[str]]:
    text = (Path(__file__).parent / name).read_text("utf-8")
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


def duplicates(embedder: Embedder) -> list[Guess]:
    """Pair what says the same with itself, with other values, with the opposite and with other things."""
    found = []
    for index, line in enumerate(_lines("closeness.tsv")):
        vectors = embedder.passages(line)
        for one in _SAME:
            for other in range(one + 1, len(line)):
                languages = line[one].isascii(), line[other].isascii()
                group = "cross" if languages[0] != languages[1] else "en" if languages[0] else "zh"
                if near_value(_claim(line[one]), _claim(line[other]), 0.0):
                    similarity = float(vectors[one] @ vectors[other])
                    found.append(Guess(group, index % 2 == 1, similarity, other in _SAME))
    return found


def keys(embedder: Embedder) -> list[Guess]:
    """Give each sentence the key whose name is nearest."""
    named = {name: entry for name, entry in vocabulary().items() if not name.endswith(".statement")}
    names = list(named)
    zh = embedder.passages([f"我的{entry.zh}" for entry in named.values()])
    en = embedder.passages([f"my {entry.en}" for entry in named.values()])
    found = []
    for index, (text, key) in enumerate(_lines("keys.tsv")):
        scores = (en if text.isascii() else zh) @ embedder.passages([text])[0]
        best = int(np.argmax(scores))
        held = index // 2 % 2 == 1  # lines alternate between the languages
        found.append(Guess("en" if text.isascii() else "zh", held, float(scores[best]), names[best] == key))
    return found


def report(name: str, guesses: Sequence[Guess]) -> None:
    """Print what the best threshold of the fit half is worth on either half, by group."""
    for group in sorted({guess.group for guess in guesses}):
        fit, held = ([g for g in guesses if g.group == group and g.held is half] for half in (False, True))
        threshold = next(step / 100 for step in range(10, 101) if _precision(_above(fit, step / 100)) >= _PRECISION)
        for half, part in (("fit", fit), ("held", held)):
            above = _above(part, threshold)
            right, wanted = sum(g.right for g in above), sum(g.right for g in part)
            print(f"{name} {group} {half}: from {threshold} on {right} right of {len(above)} found, {wanted} wanted")


def _above(guesses: Iterable[Guess], threshold: float) -> list[Guess]:
    return [guess for guess in guesses if guess.similarity >= threshold]


def _precision(guesses: Sequence[Guess]) -> float:
    return sum(guess.right for guess in guesses) / len(guesses) if guesses else 1.0


def _claim(text: str) -> Claim:
    return Claim(kind=Kind.FACT, key=None, value=text, content=text)


def _main() -> None:
    embedder = Embedder()
    try:
        report("duplicate", duplicates(embedder))
        report("key", keys(embedder))
    finally:
        embedder.close()


if __name__ == "__main__":
    _main()
