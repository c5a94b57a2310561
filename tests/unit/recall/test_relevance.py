"""How much the paths and the neighbours count, and what ranking reads off a memory."""

from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import Assertion, EventId, Kind, MemoryBody, MemoryId, TurnId
from projections.around import Link
from projections.changes import Fact
from projections.tokens import tokenize
from services.governance.lease import Freshness
from services.recall.blend import BLEND, Blend, breadth
from services.recall.bm25 import Key
from services.recall.features import Task, features_of, match
from services.recall.neighbours import with_neighbours

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def _key(number: int) -> Key:
    return MemoryId(UUID(int=number)), 1


def _turn(number: int) -> TurnId:
    return TurnId(UUID(int=1000 + number))


def _links(turns: int) -> list[Link]:
    """Return the links of one session of so many turns."""
    return [
        Link(_turn(one), _turn(two), abs(one - two))
        for one in range(turns)
        for two in range(turns)
        if 0 < abs(one - two) <= 2
    ]


TURNS = 6
RELEVANCE = st.dictionaries(st.integers(0, 11).map(_key), st.floats(0, 1), min_size=1, max_size=8)


def _said(relevance: dict[Key, float]) -> dict[Key, TurnId]:
    """Put two memories into each turn."""
    return {key: _turn(key[0].int // 2) for key in relevance}


def test_the_bonus_is_that_of_the_formula() -> None:
    """Of squares, half of the best beside it and a quarter of the best two away; the root over the greatest."""
    relevance = {_key(0): 1.0, _key(2): 0.2, _key(4): 0.0, _key(6): 0.6}
    raised = with_neighbours(relevance, _said(relevance), _links(4), relevance, BLEND)
    # turns 0..3: 1 + .5·.04 + .25·0;  .04 + .5·1 + .25·.36;  0 + .5·.36 + .25·1;  .36 + .5·0 + .25·.04
    assert raised == {
        _key(0): pytest.approx(1.0),
        _key(2): pytest.approx((0.63 / 1.02) ** 0.5),
        _key(4): pytest.approx((0.43 / 1.02) ** 0.5),
        _key(6): pytest.approx((0.37 / 1.02) ** 0.5),
    }


def test_what_was_said_in_the_same_breath_counts_as_beside() -> None:
    """Two memories of one turn lend to each other, and none lends to itself."""
    relevance = {_key(0): 0.8, _key(1): 0.2}
    raised = with_neighbours(relevance, _said(relevance), [], relevance, BLEND)
    assert raised == {_key(0): pytest.approx(0.66**0.5), _key(1): pytest.approx(0.36**0.5)}


def test_only_seeds_lend() -> None:
    """What is not among the most relevant gives nothing to its neighbours."""
    relevance = {_key(0): 0.4, _key(2): 0.2}
    raised = with_neighbours(relevance, _said(relevance), _links(2), [_key(0)], BLEND)
    assert raised == {_key(0): 0.4, _key(2): pytest.approx(0.12**0.5)}


@given(RELEVANCE)
def test_a_turn_without_neighbours_keeps_its_relevance(relevance: dict[Key, float]) -> None:
    """Memories of different sessions do not touch each other."""
    alone = {key: _turn(key[0].int) for key in relevance}
    assert with_neighbours(relevance, alone, [], relevance, BLEND) == relevance


@given(RELEVANCE, st.data())
def test_more_relevance_never_ranks_lower(relevance: dict[Key, float], data: st.DataObject) -> None:
    """Whoever becomes more relevant keeps everyone behind it that was behind it and is not its neighbour."""
    key = data.draw(st.sampled_from(sorted(relevance)))
    more = relevance | {key: data.draw(st.floats(relevance[key], 1))}
    said, links = _said(relevance), _links(TURNS)
    before = with_neighbours(relevance, said, links, relevance, BLEND)
    after = with_neighbours(more, said, links, more, BLEND)
    assert after[key] >= before[key] - 1e-9
    far = [other for other in relevance if abs(other[0].int // 2 - key[0].int // 2) > 2]
    assert all(after[other] <= before[other] + 1e-9 for other in far)


@given(RELEVANCE, st.randoms(use_true_random=False))
def test_the_bonus_does_not_depend_on_the_order(relevance: dict[Key, float], random: Random) -> None:
    """However candidates, seeds and links come, the relevance is the same, within [0, 1], of the same candidates."""
    said, links = _said(relevance), _links(TURNS)
    raised = with_neighbours(relevance, said, links, relevance, BLEND)
    keys = random.sample(sorted(relevance), len(relevance))
    shuffled = with_neighbours(
        {key: relevance[key] for key in keys}, said, random.sample(links, len(links)), keys[::-1], BLEND
    )
    assert raised == shuffled
    assert raised.keys() == relevance.keys()
    assert all(0 <= value <= 1 for value in raised.values())


@given(RELEVANCE)
def test_links_to_unknown_turns_bring_in_nothing(relevance: dict[Key, float]) -> None:
    """A link from a turn that no seed was said in, whoever's it is, changes nothing."""
    said = _said(relevance)
    strange = [Link(_turn(77), turn, 1) for turn in set(said.values())]
    expected = with_neighbours(relevance, said, [], relevance, BLEND)
    assert with_neighbours(relevance, said, strange, relevance, BLEND) == expected


@given(st.floats(0, 500), st.floats(0, 500))
def test_the_longer_a_query_the_less_its_words_count(one: float, other: float) -> None:
    """The keyword weight falls from the short one to the long one and stays within."""
    short, long = sorted((one, other))
    assert BLEND.keyword_long <= BLEND.keyword_weight(long) <= BLEND.keyword_weight(short) <= BLEND.keyword_short


def test_chinese_and_english_questions_of_one_meaning_are_about_as_broad() -> None:
    """Pairs of characters are not counted beside the characters they are made of."""
    english = breadth(tokenize("Which restaurant did Alice book for her birthday dinner on Friday?"))
    chinese = breadth(tokenize("Alice为星期五的生日晚餐预订了哪家餐厅？"))
    assert english == 6
    assert abs(chinese - english) <= 3
    assert breadth(tokenize("tea tea 茶茶")) == 1.5


@pytest.mark.parametrize(
    "wrong",
    [{"keyword_short": 1.5}, {"keyword_long": -0.1}, {"short": 50.0}, {"nearby": 0.9}, {"last_line": 2.0}],
)
def test_a_blend_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    """Weights beyond [0, 1], lengths the wrong way round, or a bonus that grows with distance."""
    with pytest.raises(ValueError, match=r"weight|words|further|last line"):
        replace(BLEND, **wrong)  # type: ignore[arg-type]


def test_a_memory_fits_the_task_that_names_its_context_project_or_version() -> None:
    """Contexts and projects fit whole or not at all, versions and identifiers by their share."""
    assert match("context:work", "", Task.of("上班时怎么写周报？")) == 1
    assert match("context:work", "", Task.of("how do I write to clients?")) == 1
    assert match("context:work", "", Task.of("晚饭吃什么")) == 0
    assert match("project:atlas", "", Task.of("Which branch does Atlas release from?")) == 1
    assert match("project:atlas", "", Task.of("Which branch?")) == 0
    wanted = Task.of("Python 3.11 下的 CN-A10293")
    assert match("personal", "订单CN-A10293还没到", wanted) > match("personal", "订单还没到", wanted)
    assert match("personal", "Python 3.11: CN-A10293", wanted) == 1


def _features(assertion: Assertion, sensitivity: str | None, status: str, state: Freshness) -> tuple[float, float]:
    fact = Fact(
        memory_id=MemoryId(UUID(int=1)),
        version=1,
        status=status,  # type: ignore[arg-type]
        event_id=EventId(UUID(int=2)),
        kind=Kind.FACT,
        confidence=900,
        importance=500,
        cites=(),
        turn_id=_turn(1),
        occurred_at=NOW,
        recorded_at=NOW,
        verified_at=NOW,
    )
    body = MemoryBody(
        kind=Kind.FACT,
        key=None,
        value="青霉素",
        content="对青霉素过敏",
        evidence=(),
        assertion=assertion,
        sensitivity=sensitivity,
    )
    found = features_of(fact, body, state, Task.of("过敏"), relevance=0.5, now=NOW)
    return found.authority, found.risk


def test_what_was_said_has_authority_and_doubt_about_a_sensitive_thing_is_a_risk() -> None:
    """What is inferred has half the authority; a sensitive memory is risky when stale or disputed, any other never."""
    assert _features(Assertion.STATED, "health", "current", Freshness.FRESH) == (1, 0)
    assert _features(Assertion.NEGATED, "health", "in_conflict", Freshness.FRESH) == (1, 1)
    assert _features(Assertion.STATED, "health", "current", Freshness.RECHECK) == (1, 1)
    assert _features(Assertion.INFERRED, None, "in_conflict", Freshness.STALE) == (0.5, 0)


def test_measuring_one_path_turns_the_other_off() -> None:
    """A blend can leave words or meaning out entirely, for every length of query."""
    words = Blend(keyword_short=1, keyword_long=1)
    assert {words.keyword_weight(length) for length in (0, 20, 100)} == {1}


@pytest.mark.parametrize(
    ("query", "rarity"),
    [
        ("我的船叫什么？", BLEND.rarity),
        ("What is my boat called?\n", BLEND.rarity),
        ("小王: 周末去海边吗\n\n助手: 好啊 / sure", 1.0),
    ],
)
def test_a_question_is_about_its_rarest_word(query: str, rarity: float) -> None:
    """A dialogue of several lines is not: what is rare in it is often said by the way."""
    assert BLEND.rarity_of(query) == rarity
