import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.governance.sameness import names, normal_value, tag_basis, topic_basis
from tests.unit.governance.make import a_candidate, a_message

SAID = a_message("x")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("深色背景", "a dark background"),
        ("繁體中文", "繁体中文"),
        ("簡潔", "concise"),
        ("ＰＤＦ", "pdf"),
        ("周四", "Thursdays"),
        ("五个 要点", "5 bullet points"),
    ],
)
def test_one_value_in_two_forms_is_normalised_alike(one: str, other: str) -> None:
    """Script, width, case, plural and, as far as the list reaches, language do not matter."""
    assert normal_value(one) == normal_value(other)


@pytest.mark.parametrize(
    ("one", "other"), [("2 spaces", "4 spaces"), ("不放糖", "放糖"), ("cats", "dogs"), ("周四", "周五"), ("", "x")]
)
def test_two_values_stay_two(one: str, other: str) -> None:
    """Numbers, negations and names keep values apart."""
    assert normal_value(one) != normal_value(other)


@pytest.mark.parametrize(
    ("key", "value", "several", "basis"),
    [
        ("home.city", "Porto", False, "personal|home.city"),
        ("taste.food", "Thai food", True, "personal|taste.food|thai food"),
        ("email.content", "表情", True, "personal|email.content|emoji"),
        (None, "Call it a day", False, "personal||call day"),
        (None, "🐧", False, "personal||🐧"),
        (None, " ", False, None),
    ],
)
def test_the_tag_names_the_same_thing(key: str | None, value: str, basis: str | None, *, several: bool) -> None:
    """Scope and key for one value, with the value for several, the value alone without a key."""
    assert tag_basis(a_candidate(SAID, key=key, value=value, multi_valued=several)) == basis


@given(st.text(max_size=80))
def test_any_value_can_be_normalised(value: str) -> None:
    """No value makes normalising fail, and it is stable."""
    assert normal_value(value) == normal_value(value)
    tag_basis(a_candidate(SAID, key=None, value=value))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"key": "taste.food", "value": "北京烤鸭"}, {"key": "taste.food", "value": "sushi"}, True),
        ({"key": "taste.food"}, {"key": "taste.drink"}, False),
        ({"key": "taste.food"}, {"key": "taste.food", "scope": "project:atlas"}, False),
        ({"key": None, "value": "The Desk"}, {"key": None, "value": "desk"}, True),
        ({"key": None, "value": "desk"}, {"key": None, "value": "chair"}, False),
    ],
)
def test_a_topic_is_the_key_and_without_one_what_is_said(
    one: dict[str, str | None], other: dict[str, str | None], same: bool
) -> None:
    """What a tombstone keeps of a keyed memory tells its key and no value."""
    left, right = (a_candidate(a_message("x"), **each) for each in (one, other))
    assert (topic_basis(left) == topic_basis(right)) is same


@pytest.mark.parametrize(
    ("part", "whole", "same"),
    [
        ("sailing course", "learn to sail this summer", True),
        ("the Norwich move", "moving to Norwich in May", True),
        ("trip", "a trip to Rome", False),
        ("Rome trip", "moving to Norwich in May", False),
        ("陶艺课", "五月去学陶艺", False),
    ],
)
def test_a_plan_is_named_by_its_own_words(part: str, whole: str, *, same: bool) -> None:
    """What sort of thing a plan is ("course", "trip") names none, whatever the form of the other words."""
    assert names(part, whole) is same
