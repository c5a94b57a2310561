"""Which memories matter now (R33).

S = w₁·relevance + w₂·importance + w₃·exp(−λ·days) + w₄·confidence + w₅·authority + w₆·kind + w₇·match
    − 0.15·in conflict − 0.10·stale − 0.20·risk

All features lie in [0, 1] and the weights of a preset add up to 1, so S ≤ 1. The exponential decay with importance and
relevance beside it is the retrieval score of Park et al., Generative Agents (2023), per day instead of per hour.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from math import exp, isclose
from typing import Final

from events.model import Kind
from services.recall.bm25 import Key

CONFLICT: Final = 0.15
STALE: Final = 0.10
RISK: Final = 0.20

KIND_VALUE: Final[Mapping[Kind, float]] = {
    Kind.PREFERENCE: 1.0,
    Kind.FACT: 1.0,
    Kind.FORMAT: 0.9,
    Kind.PROFILE: 0.9,
    Kind.GOAL: 0.8,
    Kind.PROJECT: 0.8,
    Kind.PLAN: 0.7,
    Kind.PROCEDURE: 0.7,
    Kind.EPISODE: 0.5,
    Kind.REFLECTION: 0.5,
}
"""What a kind is worth when nothing else decides: what holds until revoked before what happened once."""


@dataclass(frozen=True, slots=True)
class Features:
    """What ranking knows of a memory version; everything in [0, 1] but the age.

    `authority` is 1 for the owner of the key; `match` says how well its scope fits the task (the same project, the same
    version of a repository); `risk` is what acting on it wrongly would cost.
    """

    kind: Kind
    relevance: float
    importance: float
    confidence: float
    days: float
    authority: float = 1.0
    match: float = 0.0
    risk: float = 0.0
    stale: bool = False
    in_conflict: bool = False


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much."""

    relevance: float = 0.0
    importance: float = 0.0
    recency: float = 0.0
    confidence: float = 0.0
    authority: float = 0.0
    kind: float = 0.0
    match: float = 0.0


@dataclass(frozen=True, slots=True)
class Preset:
    """Weights that add up to 1, and the decay a day, 0.01 to 0.05."""

    weights: Weights
    decay: float = 0.02

    def __post_init__(self) -> None:
        values = [getattr(self.weights, field.name) for field in fields(self.weights)]
        if min(values) < 0 or not isclose(sum(values), 1):
            raise ValueError("the weights of a preset are not negative and add up to 1")
        if not 0.01 <= self.decay <= 0.05:  # noqa: PLR2004 - the bounds of R33
            raise ValueError("the decay of a preset is 0.01 to 0.05 a day")


DEFAULT: Final = Preset(Weights(relevance=0.5, importance=0.2, recency=0.2, kind=0.1))

PRESETS: Final[Mapping[str, Preset]] = {
    "default": DEFAULT,
    "support": Preset(Weights(relevance=0.4, importance=0.1, recency=0.4, confidence=0.1), decay=0.05),
    "medical": Preset(Weights(relevance=0.35, importance=0.25, recency=0.05, confidence=0.35), decay=0.01),
    "coding": Preset(Weights(relevance=0.5, importance=0.1, recency=0.1, match=0.3)),
    "authority": Preset(Weights(relevance=0.6, authority=0.25, recency=0.15)),
}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory version and its score."""

    key: Key
    score: float


def score(features: Features, preset: Preset = DEFAULT) -> float:
    """Return S: never lower for more of a feature, never higher for more age, staleness, conflict or risk."""
    weights = preset.weights
    return (
        weights.relevance * features.relevance
        + weights.importance * features.importance
        + weights.recency * exp(-preset.decay * max(0.0, features.days))
        + weights.confidence * features.confidence
        + weights.authority * features.authority
        + weights.kind * KIND_VALUE[features.kind]
        + weights.match * features.match
        - CONFLICT * features.in_conflict
        - STALE * features.stale
        - RISK * features.risk
    )


def rank(candidates: Mapping[Key, Features] | Iterable[tuple[Key, Features]], preset: Preset = DEFAULT) -> list[Ranked]:
    """Order candidates, best first; equal scores in the order of their ids, so that every process answers alike."""
    pairs = candidates.items() if isinstance(candidates, Mapping) else candidates
    ranked = [Ranked(key, score(features, preset)) for key, features in pairs]
    return sorted(ranked, key=lambda each: (-each.score, each.key))
