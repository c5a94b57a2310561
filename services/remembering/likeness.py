"""How close a candidate without a semantic key is to the memories it may correct, and each text's vector made once."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from events.model import Candidate, Claim, EventId, MemoryBody, MemoryId
from projections.changes import Fact
from projections.embedding import Embedder
from services.extraction.vocabulary import vocabulary
from services.governance.policy import SuccessionPolicy
from services.governance.renewal import could_renew
from services.remembering.successors import may_succeed

Vector = NDArray[np.float32]


class Vectors:
    """The vectors of one turn's texts.

    Args:
        embedder: makes them; each text once, however often it is asked for.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._made: dict[str, Vector] = {}

    async def of(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text, shape (384,)."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._made]
        if missing:
            self._made |= zip(missing, await self._embedder.embed_passages(missing), strict=True)
        return [self._made[text] for text in texts]


def comparable(
    candidates: Iterable[Candidate], facts: Iterable[Fact], bodies: Mapping[EventId, object], policy: SuccessionPolicy
) -> list[tuple[Candidate, Fact]]:
    """Return the pairs of which one may correct the other by its words, so that only these are measured."""
    memories = [(fact, body) for fact in facts if isinstance(body := bodies.get(fact.event_id), MemoryBody)]
    return [
        (candidate, fact)
        for candidate in candidates
        for fact, body in memories
        if _may_renew(candidate, body) or may_succeed(candidate, body, policy)
    ]


def _may_renew(candidate: Candidate, body: MemoryBody) -> bool:
    both = _is_open(candidate) and _is_open(body)
    return both and (could_renew(candidate, body) or could_renew(body, candidate))


async def measured(
    pairs: Iterable[tuple[Candidate, Fact]], stored: Mapping[EventId, Vector], vectors: Vectors
) -> dict[str, dict[MemoryId, float]]:
    """Return the cosines of such pairs, by content of the candidate and id of the memory.

    Args:
        pairs: from `comparable`.
        stored: the vectors of the memories' versions, by their events.
        vectors: makes those of the candidates.
    """
    scores: dict[str, dict[MemoryId, float]] = {}
    for candidate, fact in pairs:
        if (there := stored.get(fact.event_id)) is not None:
            (here,) = await vectors.of([candidate.content])
            scores.setdefault(candidate.content, {})[fact.memory_id] = float(here @ there)
    return scores


def _is_open(claim: Claim) -> bool:
    """Say whether a claim has no key, or one that is not of the vocabulary and holds one value."""
    return claim.key is None or (claim.key not in vocabulary() and not claim.multi_valued)
