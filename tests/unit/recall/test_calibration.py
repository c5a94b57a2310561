"""Relevance keeps its order on the scale of the score, and age decides only between those about as relevant."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from events.model import Kind
from services.recall.calibration import PLACE, calibrated
from services.recall.ranking import Features, score

RELEVANCE = st.dictionaries(st.integers(), st.floats(0, 1), min_size=1, max_size=60)


@given(RELEVANCE)
def test_nothing_changes_places(relevance: dict[int, float]) -> None:
    """Whatever is more relevant stays so, and everything stays in [0, 1]."""
    scaled = calibrated(relevance)
    assert all(0 <= value <= 1 for value in scaled.values())
    ordered = sorted(relevance, key=lambda key: relevance[key])
    assert all(scaled[one] <= scaled[other] for one, other in pairwise(ordered))


def test_what_is_new_displaces_only_what_is_about_as_relevant() -> None:
    """A year of age costs what is clearly meant no place to what is clearly not, but decides between equals."""
    relevance = {number: 1.0 - number / 100 for number in range(5)} | dict.fromkeys(range(5, 60), 0.3)
    scaled = calibrated(relevance)
    assert len([value for value in scaled.values() if value > 0.9]) == 5 < PLACE

    def ranked(key: int, days: float) -> float:
        return score(Features(kind=Kind.FACT, relevance=scaled[key], importance=0.5, confidence=1, days=days))

    assert ranked(4, 365) > ranked(5, 0)
    assert ranked(6, 0) > ranked(5, 365)


def test_nothing_to_rank_is_nothing() -> None:
    """No candidate, no scale."""
    assert calibrated({}) == {}
