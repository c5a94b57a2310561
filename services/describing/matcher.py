"""Matching descriptions with what memories say: reads both languages' topics, measures with the embedding model."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from events.model import Candidate, Turn
from projections.embedding import Embedder
from services.extraction.subjects import meant_subjects, subjects_of
from services.governance.aboutness import Description, aboutness, describe
from services.governance.policy import AboutPolicy

_END = re.compile(r"[。！？!?;；\n]|\.(?=\s|$)")


@dataclass(frozen=True)
class Wanted:
    """A description, read and embedded."""

    description: Description
    vector: NDArray[np.float32]


class Matcher:
    """Says how much a memory is about a description.

    Args:
        embedder: embeds descriptions as queries; memories' vectors must be of the same model.
        policy: the weights, and the threshold from which on a memory is meant.
    """

    def __init__(self, embedder: Embedder, policy: AboutPolicy) -> None:
        self._embedder = embedder
        self._policy = policy

    async def read(self, text: str) -> Wanted:
        """Read a description."""
        return Wanted(describe(text, meant_subjects(text)), await self._embedder.embed_query(text))

    def score(self, wanted: Wanted, text: str, key: str | None, vector: NDArray[np.float32]) -> float:
        """Return how much a text under a semantic key is about what is wanted (`aboutness`).

        Args:
            wanted: what was described.
            text: what a memory, or the sentence it comes from, says.
            key: the memory's semantic key.
            vector: the text's, of the same model.
        """
        topics = subjects_of(text, key)
        return aboutness(wanted.description, text, topics, float(wanted.vector @ vector), self._policy)

    def means(self, score: float) -> bool:
        """Say whether a score is that of something meant."""
        return score >= self._policy.threshold


def sentences_of(turn: Turn, candidate: Candidate) -> tuple[str, ...]:
    """Return the sentences of the turn in which a candidate's evidence stands."""
    messages = {message.message_id: message.content for message in turn.messages}
    found = []
    for pointer in candidate.evidence:
        text = messages.get(pointer.message_id, "")
        ends = [mark.end() for mark in _END.finditer(text)]
        start = max((end for end in ends if end <= pointer.start), default=0)
        stop = min((end for end in ends if end >= pointer.end), default=len(text))
        found.append(text[start:stop].strip(" \t\n。！？!?.;；"))
    return tuple(dict.fromkeys(sentence for sentence in found if sentence))
