"""One relevance in [0, 1] from dense and keyword scores: linear, over normalised scores.

r(d) = (1 − w) · max(0, cos(d)) / max cos  +  w · bm25(d) / max bm25        w: `Blend.keyword_weight`

On LoCoMo, MemDaily and MADial this beats reciprocal rank fusion on every set; ranking documents that share no keyword
with the query was actively harmful, so they get no keyword score at all. The zero of the dense score is the mean of
unrelated texts, which is where centring puts it (`projections/embedding.py`).
"""

from collections.abc import Mapping

from services.recall.bm25 import Key


def fuse(dense: Mapping[Key, float], keyword: Mapping[Key, float], keyword_weight: float) -> dict[Key, float]:
    """Return the relevance of everything either path found.

    Where one path found nothing at all the other counts alone. What the dense path did not return was beyond its limit
    and counts as unrelated there.

    Raises:
        ValueError: The weight is not in [0, 1].
    """
    if not 0 <= keyword_weight <= 1:
        raise ValueError(f"a keyword weight lies in [0, 1], not at {keyword_weight}")
    near, shared = _normalised(dense), _normalised(keyword)
    weight = 0.0 if not shared else 1.0 if not near else keyword_weight
    return {key: (1 - weight) * near.get(key, 0.0) + weight * shared.get(key, 0.0) for key in {**dense, **keyword}}


def bounded(relevance: Mapping[Key, float]) -> dict[Key, float]:
    """Bring what has added up to more than 1 back into [0, 1], by the greatest of it."""
    scale = max(1.0, *relevance.values()) if relevance else 1.0
    return {key: value / scale for key, value in relevance.items()}


def _normalised(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Divide by the best score; what is not positive has none."""
    positive = {key: score for key, score in scores.items() if score > 0}
    best = max(positive.values(), default=1.0)
    return {key: score / best for key, score in positive.items()}
