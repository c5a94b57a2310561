"""Evidence recall and its intervals, and vectors that are embedded once."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.bench.retrieval.pool import Question
from ops.bench.retrieval.score import Answered, figure, figures, share
from ops.bench.retrieval.vectors import KeptVectors
from projections.embedding import Embedder


def _question(*evidence: str, category: str = "1") -> Question:
    return Question("?", frozenset(evidence), category, 0)


def test_recall_is_the_share_of_evidence_among_the_first() -> None:
    """Two of three within the cut; what came twice takes one place."""
    asked = _question("a", "b", "c")
    assert share(asked, ["a", "x", "x", "b", "c"], 3) == pytest.approx(2 / 3)
    assert share(asked, ["a", "x", "y", "b"], 3) == pytest.approx(1 / 3)
    assert share(asked, [], 3) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_the_interval_holds_the_mean_and_is_the_same_every_time(shares: list[float]) -> None:
    """The bootstrap is seeded; one value alone has no width."""
    found = figure(shares)
    assert found == figure(shares)
    assert found.low - 1e-9 <= found.mean <= found.high + 1e-9
    assert figure([0.5] * 9).high == figure([0.5] * 9).low == 0.5


def test_figures_stand_by_category_and_together() -> None:
    """Each category has its own mean; `all` that of every question."""
    answered = [
        Answered(_question("a", category="1"), {"dense": ["a"]}),
        Answered(_question("b", category="2"), {"dense": ["a"]}),
    ]
    told = figures(answered)
    assert {category: ways["dense"][5].mean for category, ways in told.items()} == {"1": 1.0, "2": 0.0, "all": 0.5}


def test_a_text_is_embedded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run reads the vector from the file, for the same side only, and gets the very same."""
    first = KeptVectors(tmp_path / "vectors.db")
    said, asked = first.passages(["北京烤鸭"])[0], first.query("北京烤鸭")
    first.close()

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("embedded again")

    monkeypatch.setattr(Embedder, "_encode", fail)
    second = KeptVectors(tmp_path / "vectors.db")
    try:
        assert np.array_equal(second.passages(["北京烤鸭"])[0], said)
        assert np.array_equal(second.query("北京烤鸭"), asked)
        assert not np.array_equal(said, asked)
    finally:
        second.close()
