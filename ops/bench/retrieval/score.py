"""Evidence recall@k with bootstrap confidence intervals."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ops.bench.retrieval.pool import Question

CUTS: Final = (5, 10, 20)
EVERY: Final = "all"
_DRAWS: Final = 2_000
_SEED: Final = 1
_ENDS: Final = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Answered:
    """A question and the items that came, best first, by the way they were ranked."""

    question: Question
    found: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over questions, with the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


def share(question: Question, found: Sequence[str], cut: int) -> float:
    """Return which share of a question's evidence is among the first `cut`; an item that came twice counts once."""
    first = list(dict.fromkeys(found))[:cut]
    return len(question.evidence.intersection(first)) / len(question.evidence)


def figure(shares: Sequence[float]) -> Figure:
    """Return the mean and its interval: 2,000 draws of as many questions, with replacement, seeded."""
    values = np.asarray(shares)
    draws = np.random.default_rng(_SEED).integers(0, len(values), (_DRAWS, len(values)))
    low, high = np.percentile(values[draws].mean(axis=1), _ENDS)
    return Figure(float(values.mean()), float(low), float(high))


def figures(answered: Sequence[Answered]) -> dict[str, dict[str, dict[int, Figure]]]:
    """Return figures by category, by way of ranking, by cut; `all` holds every question."""
    groups: dict[str, list[Answered]] = defaultdict(list)
    for each in answered:
        groups[each.question.category].append(each)
    if len(groups) > 1 or EVERY not in groups:
        groups[EVERY] = list(answered)
    return {
        category: {
            way: {cut: figure([share(each.question, each.found[way], cut) for each in own]) for cut in CUTS}
            for way in own[0].found
        }
        for category, own in sorted(groups.items())
    }
