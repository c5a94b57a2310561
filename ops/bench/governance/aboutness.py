"""How well descriptions find what they mean: the fit behind `about` in policy.yaml.

    python -m ops.bench.governance.aboutness

Prints the error of the shipped weights, the best threshold for them, and every pair that is judged wrong.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from projections.embedding import Embedder
from services.describing.matcher import Matcher
from services.governance.policy import shipped_policy

_PAIRS = Path(__file__).with_suffix(".tsv")


@dataclass(frozen=True, slots=True)
class Pair:
    """A description, what a memory says, whether the one means the other."""

    description: str
    said: str
    meant: bool


def pairs() -> list[Pair]:
    """Read the pairs."""
    lines = (line for line in _PAIRS.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    return [Pair(description, said, word == "yes") for description, said, word in (line.split("\t") for line in lines)]


async def scores(found: Sequence[Pair], embedder: Embedder) -> list[float]:
    """Score every pair with the shipped weights."""
    matcher = Matcher(embedder, shipped_policy().about)
    vectors = await embedder.embed_passages([pair.said for pair in found])
    return [
        matcher.score(await matcher.read(pair.description), pair.said, None, vector)
        for pair, vector in zip(found, vectors, strict=True)
    ]


def errors(found: Sequence[Pair], scored: Sequence[float], threshold: float) -> list[tuple[Pair, float]]:
    """Return the pairs a threshold judges wrong."""
    return [(pair, score) for pair, score in zip(found, scored, strict=True) if (score >= threshold) != pair.meant]


async def _main() -> None:
    embedder = Embedder()
    try:
        found = pairs()
        scored = await scores(found, embedder)
    finally:
        embedder.close()
    threshold = shipped_policy().about.threshold
    best = min((step / 100 for step in range(10, 60)), key=lambda each: len(errors(found, scored, each)))
    wrong = errors(found, scored, threshold)
    least = len(errors(found, scored, best))
    print(f"{len(found)} pairs, {len(wrong)} wrong at {threshold}; best threshold {best}: {least}")
    for pair, score in wrong:
        print(f"{score:.2f}  {'missed' if pair.meant else 'caught'}  {pair.description} | {pair.said}")


if __name__ == "__main__":
    asyncio.run(_main())
