"""How each candidate was found, in ids and numbers: what a trace tells of it (R36)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import inf

from events.model import Kind, MemoryId
from projections.briefs import Briefs
from projections.vectors import Hit
from services.recall.bm25 import Key
from services.wire.traces import RecallPath


@dataclass(frozen=True, slots=True)
class Clue:
    """How a memory version was found, in ids and numbers only.

    `dense` is its cosine with the query and `words` its BM25, with the rank that the path itself gave it; of a query
    that asks several things, of the one that gives the most.
    """

    kind: Kind
    paths: tuple[RecallPath, ...]
    relevance: float = 0.0
    dense: float | None = None
    dense_rank: int | None = None
    words: float | None = None
    words_rank: int | None = None


def clues_of(
    facts: Briefs,
    paths: Mapping[RecallPath, AbstractSet[MemoryId]],
    relevance: Mapping[Key, float],
    *,
    dense: Sequence[Mapping[Key, float]],
    nearest: Sequence[Sequence[Hit]],
    words: Sequence[Mapping[Key, float]],
    best: Sequence[Sequence[Key]],
) -> dict[Key, Clue]:
    """Say of every candidate how it was found.

    Args:
        facts: the candidates.
        paths: what each path proposed.
        relevance: that of each, 0 where it is left out.
        dense: of each aspect, the cosine of what is scored.
        nearest: of each aspect, what the vector index proposed, the nearest first.
        words: of each aspect, the BM25 of what shares a word with it.
        best: of each aspect, what its words proposed, the best first.
    """
    cosine, shared = _most(dense), _most(words)
    dense_ranks = _ranks([[(hit.memory_id, hit.version) for hit in found] for found in nearest])
    words_ranks = _ranks(best)
    ways: dict[MemoryId, tuple[RecallPath, ...]] = defaultdict(tuple)
    for path, proposed in paths.items():
        for memory in proposed:
            ways[memory] += (path,)
    return {
        key: Clue(
            fact.kind,
            ways[key[0]],
            relevance.get(key, 0.0),
            cosine.get(key),
            dense_ranks.get(key),
            shared.get(key),
            words_ranks.get(key),
        )
        for key, fact in facts.items()
    }


def _most(scores: Sequence[Mapping[Key, float]]) -> dict[Key, float]:
    """Return of each memory the score for the aspect that gives it the most."""
    most: dict[Key, float] = {}
    for each in scores:
        most |= {key: score for key, score in each.items() if score > most.get(key, -inf)}
    return most


def _ranks(ranked: Sequence[Sequence[Key]]) -> dict[Key, int]:
    """Return of each memory its best place for an aspect."""
    ranks: dict[Key, int] = {}
    for keys in ranked:
        ranks |= {key: min(place, ranks.get(key, place)) for place, key in enumerate(keys, 1)}
    return ranks
