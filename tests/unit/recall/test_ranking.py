"""Keyword scores, their fusion with dense ones, the ranking formula and the lease."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import Kind, MemoryId
from projections.keywords import Entry
from projections.tokens import terms
from services.governance.lease import Freshness, freshness, leases
from services.recall.bm25 import Key, keyword_scores
from services.recall.fusion import fuse
from services.recall.ranking import DEFAULT, KIND_VALUE, PRESETS, Features, Preset, Weights, rank, score
from services.wire.recall import RankingPreset

SECRET = bytes(32)
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def _key(number: int, version: int = 1) -> Key:
    return MemoryId(UUID(int=number)), version


def _entries(*texts: str) -> list[Entry]:
    hashed = [terms(text, SECRET) for text in texts]
    return [Entry(MemoryId(UUID(int=at)), 1, each, len(each)) for at, each in enumerate(hashed)]


def _scores(query: str, *texts: str) -> dict[Key, float]:
    entries = _entries(*texts)
    mean = sum(entry.length for entry in entries) / len(entries)
    return keyword_scores(terms(query, SECRET), entries, count=len(entries), mean_length=mean)


def test_keywords_rank_the_right_memory_first() -> None:
    """The memory that shares the rarer words wins, in Chinese and English; one that shares none is not scored."""
    texts = ("我喜欢北京烤鸭", "我喜欢喝茶", "I like tea in the morning", "The build runs on Python 3.11")
    found = _scores("北京的烤鸭", *texts)
    assert max(found, key=found.__getitem__) == _key(0)
    assert _key(3) not in found
    assert set(_scores("which Python builds?", *texts)) == {_key(3)}
    assert _scores("什么", *texts) == {}


def test_keyword_scores_are_those_of_the_formula() -> None:
    """A case worked out by hand: N 2, df 1, tf 2, length 2, mean 3."""
    entries = [Entry(MemoryId(UUID(int=0)), 1, (7, 7), 2), Entry(MemoryId(UUID(int=1)), 1, (8, 8, 9, 9), 4)]
    # idf = ln(1 + 1.5 / 1.5) = 0.6931; norm = 0.9 · (0.6 + 0.4 · 2/3) = 0.78; 0.6931 · 2 · 1.9 / 2.78 = 0.9475
    found = keyword_scores([7, 7], entries, count=2, mean_length=3)
    assert found == {_key(0): pytest.approx(0.9475, abs=1e-4)}


def test_a_rare_word_counts_the_more_the_higher_the_exponent() -> None:
    """What shares a rare word with the query leads what shares a common one by more."""
    rare, common, *_ = entries = [Entry(MemoryId(UUID(int=at)), 1, (8 if at else 7,), 3) for at in range(9)]

    def lead(rarity: float) -> float:
        found = keyword_scores([7, 8], entries, count=20, mean_length=3, rarity=rarity)
        return found[rare.memory_id, 1] / found[common.memory_id, 1]

    assert 1 < lead(1.0) < lead(1.5) < lead(1.8)


def test_keyword_scores_survive_odd_statistics() -> None:
    """Counts read a moment earlier, and an empty index, give finite positive scores."""
    entries = _entries("tea", "tea", "tea")
    assert all(value > 0 for value in keyword_scores(entries[0].terms, entries, count=0, mean_length=0).values())
    assert keyword_scores([], entries, count=3, mean_length=1) == {}
    assert keyword_scores([1], [], count=0, mean_length=0) == {}


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 200))
def test_more_occurrences_score_higher(fewer: int, more: int, length: int) -> None:
    """Of two memories of one length the one with the word more often is never behind."""
    low, high = sorted((fewer, fewer + more))
    entries = [Entry(MemoryId(UUID(int=at)), 1, (7,) * tf, length) for at, tf in enumerate((low, high))]
    found = keyword_scores([7], entries, count=9, mean_length=10)
    assert found[_key(0)] < found[_key(1)]


def test_fusion_gives_no_keyword_score_without_a_match() -> None:
    """A memory without a keyword keeps only its dense share; with both paths the best of both has 1."""
    fused = fuse({_key(1): 0.8, _key(2): 0.4, _key(3): -0.2}, {_key(1): 5.0, _key(4): 2.5}, 0.4)
    assert fused == {
        _key(1): pytest.approx(1.0),
        _key(2): pytest.approx(0.3),
        _key(3): 0.0,
        _key(4): pytest.approx(0.2),
    }


def test_fusion_of_one_path_alone() -> None:
    """Where a path found nothing the other is not scaled down."""
    assert fuse({_key(1): 0.5}, {}, 0.4) == {_key(1): 1.0}
    assert fuse({}, {_key(1): 3.0}, 0.4) == {_key(1): 1.0}
    assert fuse({}, {}, 0.4) == {}


SCORES = st.dictionaries(st.integers(1, 6).map(_key), st.floats(-1, 1), max_size=6)
KEYWORDS = st.dictionaries(st.integers(1, 6).map(_key), st.floats(0, 50), max_size=6)


@given(SCORES, KEYWORDS, st.floats(0, 1))
def test_fused_relevance_is_bounded(dense: dict[Key, float], keyword: dict[Key, float], weight: float) -> None:
    """Relevance lies in [0, 1], exists for everything found, and agrees with paths that agree."""
    fused = fuse(dense, keyword, weight)
    assert set(fused) == set(dense) | set(keyword)
    assert all(0 <= value <= 1 + 1e-9 for value in fused.values())
    for one in fused:
        for two in fused:
            if dense.get(one, 0) >= dense.get(two, 0) and keyword.get(one, 0) >= keyword.get(two, 0):
                assert fused[one] >= fused[two]


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan")])
def test_fusion_refuses_other_weights(weight: float) -> None:
    """A weight outside [0, 1] is a configuration error."""
    with pytest.raises(ValueError, match="weight"):
        fuse({}, {}, weight)


UNIT = st.floats(0, 1)
FEATURES = st.builds(
    Features,
    kind=st.sampled_from(Kind),
    relevance=UNIT,
    importance=UNIT,
    confidence=UNIT,
    days=st.floats(-10, 5_000),
    authority=UNIT,
    match=UNIT,
    risk=UNIT,
    stale=st.booleans(),
    in_conflict=st.booleans(),
)
ANY_PRESET = st.sampled_from(sorted(PRESETS)).map(PRESETS.__getitem__)


@given(FEATURES, ANY_PRESET, st.sampled_from(["relevance", "importance", "confidence", "authority", "match"]), UNIT)
def test_more_of_a_feature_never_ranks_lower(features: Features, preset: Preset, name: str, other: float) -> None:
    """The score is monotone in every feature that speaks for a memory."""
    low, high = sorted((getattr(features, name), other))
    assert score(replace(features, **{name: high}), preset) >= score(replace(features, **{name: low}), preset)


@given(FEATURES, ANY_PRESET, UNIT, st.floats(0, 5_000))
def test_age_and_doubt_never_rank_higher(features: Features, preset: Preset, risk: float, later: float) -> None:
    """The score is antitone in age, risk, staleness and conflict."""
    value = score(features, preset)
    assert score(replace(features, days=features.days + later), preset) <= value
    assert score(replace(features, risk=max(risk, features.risk)), preset) <= value
    assert score(replace(features, stale=True), preset) <= value
    assert score(replace(features, in_conflict=True), preset) <= value
    assert -0.45 <= value <= 1 + 1e-9


def test_the_default_is_that_of_the_specification() -> None:
    """0.5 relevance, 0.2 importance, 0.2 exp(−0.02 · days), 0.1 kind."""
    features = Features(Kind.EPISODE, relevance=0.8, importance=0.5, confidence=0.1, days=50)
    assert score(features) == pytest.approx(0.5 * 0.8 + 0.2 * 0.5 + 0.2 * 0.36788 + 0.1 * 0.5, abs=1e-5)


def test_a_request_can_name_every_preset() -> None:
    """The door knows the presets there are, and no other."""
    assert {each.value for each in RankingPreset} == set(PRESETS)


def test_presets_prefer_what_they_are_for() -> None:
    """Support turns to the newer, medicine to the surer, coding to the matching version, authority to the owner."""
    base = Features(Kind.FACT, relevance=0.6, importance=0.5, confidence=0.5, days=30, authority=0.5)
    for name, better in (
        ("support", replace(base, days=1, relevance=0.5)),
        ("medical", replace(base, confidence=0.9, relevance=0.5)),
        ("coding", replace(base, match=1.0, relevance=0.5)),
        ("authority", replace(base, authority=1.0, relevance=0.5)),
    ):
        assert rank({_key(1): base, _key(2): better}, PRESETS[name])[0].key == _key(2), name


def test_every_kind_has_a_value_and_a_lease() -> None:
    """A new kind cannot be forgotten here."""
    assert set(KIND_VALUE) == set(leases().kinds) == set(Kind)


@given(st.lists(FEATURES, max_size=8), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_input(features: list[Features], random: Random) -> None:
    """However the candidates come, they leave in one order, equal scores by id."""
    pairs = [(_key(at), each) for at, each in enumerate(features)]
    shuffled = random.sample(pairs, len(pairs))
    assert rank(pairs, DEFAULT) == rank(shuffled, DEFAULT) == rank(dict(shuffled), DEFAULT)


@pytest.mark.parametrize(
    ("weights", "decay"),
    [(Weights(relevance=0.5), 0.02), (Weights(relevance=1.5, kind=-0.5), 0.02), (Weights(relevance=1), 0.2)],
)
def test_refuses_a_preset_that_does_not_add_up(weights: Weights, decay: float) -> None:
    """Weights that are negative or do not add up to 1, or a decay beyond R33's bounds, are a configuration error."""
    with pytest.raises(ValueError, match="preset"):
        Preset(weights, decay)


def test_the_lease_runs_out() -> None:
    """Within the lease a memory is used as it is; after it a hint, or a recheck where harm could come of it."""
    old, new = NOW - timedelta(days=800), NOW - timedelta(days=1)
    assert freshness(Kind.PREFERENCE, None, verified_at=new, now=NOW, high_risk=True) is Freshness.FRESH
    assert freshness(Kind.PREFERENCE, None, verified_at=old, now=NOW, high_risk=False) is Freshness.STALE
    assert freshness(Kind.PREFERENCE, None, verified_at=old, now=NOW, high_risk=True) is Freshness.RECHECK
    assert freshness(Kind.EPISODE, None, verified_at=old, now=NOW, high_risk=True) is Freshness.FRESH
    ended = freshness(Kind.EPISODE, None, verified_at=new, now=NOW, high_risk=False, valid_until=new)
    assert ended is Freshness.STALE
    assert [each for each in Freshness if each.may_drive_a_write] == [Freshness.FRESH]


def test_a_name_does_not_go_stale_and_a_plan_does() -> None:
    """The key says how long, where it knows better than the kind."""
    long_ago, last_quarter = NOW - timedelta(days=5000), NOW - timedelta(days=90)

    def stale(kind: Kind, key: str | None, said: datetime) -> bool:
        return freshness(kind, key, verified_at=said, now=NOW, high_risk=False) is Freshness.STALE

    assert not stale(Kind.PROFILE, "identity.name", long_ago)
    assert stale(Kind.PROFILE, "home.city", long_ago)
    assert stale(Kind.PLAN, "plan", last_quarter)
    assert not stale(Kind.PREFERENCE, "taste.food", last_quarter)
