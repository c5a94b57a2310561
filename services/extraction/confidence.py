"""Stage 6: how sure a claim is, from named features."""

from events.model import Assertion, Kind
from services.extraction.proposal import Proposal

# Each feature multiplies. Doubt takes a claim below the line at which it is held; a bare pattern stays above it.
_WEIGHTS = {
    "frame": 0.9,
    "attribute": 0.8,
    "rule": 0.85,
    "statement": 0.7,
    "exemplar": 0.7,
    "episode": 0.75,
    "model": 0.85,
    "dated": 1.1,
    "topic": 1.03,
    "aspect": 1.05,
    "uncertain": 0.45,
    "doubted": 0.4,
    "explicit": 1.15,
    "repaired": 0.98,
    "recalled": 0.85,
}
_IMPORTANCE = {
    Kind.PROFILE: 0.7,
    Kind.GOAL: 0.7,
    Kind.PREFERENCE: 0.65,
    Kind.FORMAT: 0.65,
    Kind.PLAN: 0.6,
    Kind.PROJECT: 0.6,
    Kind.FACT: 0.55,
    Kind.EPISODE: 0.4,
}


def confidence_of(proposal: Proposal) -> float:
    """Return the product of the weights of a proposal's features, at most 0.99."""
    score = 1.0
    for feature in sorted(proposal.features):
        score *= _WEIGHTS.get(feature, 1.0)
    return round(min(0.99, score), 3)


def importance_of(proposal: Proposal) -> float:
    """Return how much a claim matters: by kind, more when asked for, less for what passes."""
    base = _IMPORTANCE.get(proposal.kind, 0.5)
    if "explicit" in proposal.features:
        base += 0.2
    if proposal.ephemeral or proposal.assertion is Assertion.HYPOTHETICAL:
        base -= 0.3
    return round(min(1.0, max(0.0, base)), 3)
