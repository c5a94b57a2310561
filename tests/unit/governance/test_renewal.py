from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import Assertion, Candidate, Kind
from services.governance.judge import Ruling, Writing, judge
from services.governance.policy import shipped_policy
from services.governance.renewal import changed, could_renew
from services.governance.view import Living
from tests.unit.governance.make import NOON, a_candidate, a_memory, a_message, a_turn, a_view

POLICY = shipped_policy().renewal
OLD, NEW = "备用钥匙在蓝色花盆下面", "备用钥匙改放门口鞋柜里"
LATER = NOON + timedelta(hours=1)


def said(content: str, **changes: object) -> Candidate:
    """Make a candidate without a key."""
    values = {"kind": Kind.FACT, "key": None, "value": content, "content": content, **changes}
    return a_candidate(a_message(content), **values)


@pytest.mark.parametrize(
    ("newer", "older", "may"),
    [
        ("备用钥匙改放门口鞋柜里", "备用钥匙在蓝色花盆下面", True),
        ("遛狗改到晚饭后", "早饭前遛狗", True),
        ("合唱团的伴奏换成老谢", "合唱团的钢琴伴奏是小苏", True),
        ("备用雨伞改放门口鞋柜里", "备用钥匙在蓝色花盆下面", False),
        ("展览换到老厂房三楼", "排练在老厂房三楼", False),
        ("备用钥匙在门口鞋柜里", "备用钥匙在蓝色花盆下面", False),
        ("我们改用白盘子", "我们用蓝盘子", False),
        ("rehearsals moved to the boathouse", "rehearsals are in the old mill", True),
        ("the baby now naps at two", "the baby naps at noon", True),
        ("use rice flour instead in the pancakes", "use oat flour in the pancakes", True),
        ("we have a new vet, Dr Quist", "our vet is Dr Pell", True),
        ("the puppy now naps at noon", "the baby naps at noon", False),
        ("we switched our water to Brightwell", "our electricity comes from Brightwell", False),
        ("the baby naps at two", "the baby naps at noon", False),
        ("it is now in the garage", "it is in the study", False),
        ("the baby now naps at two", "宝宝中午睡觉", False),
    ],
)
def test_what_a_change_may_correct_by_its_words(newer: str, older: str, *, may: bool) -> None:
    """It is worded as a change, and every word of what has changed stands in the older statement."""
    assert could_renew(said(newer), said(older)) is may


@pytest.mark.parametrize(
    "other",
    [
        {"scope": "work"},
        {"kind": Kind.PREFERENCE},
        {"positive": False},
        {"assertion": Assertion.PAST},
    ],
)
def test_other_claims_are_not_corrected(other: dict[str, object]) -> None:
    """Scope, kind, polarity and assertion are a guard that no closeness overrides."""
    assert not could_renew(said(NEW), said(OLD, **other))


def test_two_keys_are_told_apart_by_themselves() -> None:
    """A claim with a key of its own is not compared with another that has one."""
    assert could_renew(said(NEW, key="key.place"), said(OLD))
    assert not could_renew(said(NEW, key="key.place"), said(OLD, key="spare.place"))


def ruled(candidate: Candidate, memories: list[Living], similarities: list[float], *, later: bool = True) -> Ruling:
    """Judge a candidate an hour after or before its memories."""
    turn = a_turn(a_message(candidate.content), at=LATER if later else NOON - timedelta(hours=1))
    alike = {each.memory_id: close for each, close in zip(memories, similarities, strict=True)}
    candidate = candidate.model_copy(
        update={"evidence": (candidate.evidence[0].model_copy(update={"message_id": turn.messages[0].message_id}),)}
    )
    view = a_view(turn, *memories).model_copy(update={"alike": {candidate.content: alike}})
    return judge(candidate, view)


def test_the_closest_is_superseded() -> None:
    """Of two that the words allow, closeness takes the one in the same respect."""
    place, metal = a_memory(said(OLD)), a_memory(said("备用钥匙是铜的"))
    ruling = ruled(said(NEW), [metal, place], [POLICY.zh, POLICY.zh + 0.1])
    assert (ruling.outcome, ruling.reason) == (Writing.SUPERSEDE, "newer_statement")
    assert ruling.target is not None
    assert ruling.target.memory_id == place.memory_id


def test_below_the_threshold_both_stay() -> None:
    """What is said of the thing in another respect coexists."""
    assert ruled(said(NEW), [a_memory(said(OLD))], [POLICY.zh - 0.01]).outcome is Writing.ACCEPT


def test_without_a_wording_of_change_both_stay() -> None:
    """However close they are, a like statement is another memory."""
    assert ruled(said("备用钥匙在门口鞋柜里"), [a_memory(said(OLD))], [0.99]).outcome is Writing.ACCEPT


def test_what_was_corrected_before_it_arrived_is_stale() -> None:
    """A statement that arrives behind the one that corrects it is not written."""
    assert ruled(said(OLD), [a_memory(said(NEW))], [0.9], later=False).reason == "stale"


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_closeness_never_keeps_apart(one: float, other: float) -> None:
    """Whatever supersedes at some closeness does so at every greater one."""
    low, high = sorted((one, other))
    old = a_memory(said(OLD))
    if ruled(said(NEW), [old], [low]).outcome is Writing.SUPERSEDE:
        assert ruled(said(NEW), [old], [high]).outcome is Writing.SUPERSEDE


@given(st.text(max_size=60))
def test_any_text_can_be_asked_about(text: str) -> None:
    """No text breaks the patterns, and what has changed is said in the text itself."""
    assert isinstance(changed(text), frozenset)
