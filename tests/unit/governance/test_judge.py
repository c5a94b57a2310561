from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import Assertion, Kind, Outcome
from services.governance.judge import GATES, Writing, judge
from tests.unit.governance.make import NOON, Person, a_candidate, a_memory, a_message, a_turn, a_view

SAID = a_message("一句话 one two 1 2")
LATER = NOON + timedelta(days=1)
EARLIER = NOON - timedelta(days=1)


def test_the_gates_stand_in_the_order_of_the_specification() -> None:
    """R13 names the order, R41 and R16 put three more between; a refusal names the first gate that objects."""
    assert [gate.__name__ for gate in GATES] == [
        "origin",
        "evidence",
        "secret",
        "suppression",
        "instruction",
        "ephemeral",
        "assertion",
        "purpose",
        "sensitivity",
        "worth",
        "confidence",
        "forgotten",
        "authority",
        "duplicate",
        "editability",
        "conflict",
        "capacity",
    ]
    candidate = a_candidate(SAID, ephemeral=True, assertion=Assertion.HYPOTHETICAL, confidence=0.1)
    assert judge(candidate, a_view(a_turn(SAID))).gate == "ephemeral"


def test_what_nothing_stands_against_is_accepted() -> None:
    """A new claim becomes a memory."""
    ruling = judge(a_candidate(SAID), a_view(a_turn(SAID)))
    assert (ruling.outcome, ruling.target) == (Writing.ACCEPT, None)


CONFLICTS: list[tuple[dict[str, Any], dict[str, Any], object, str]] = [
    # one value at a time
    ({"value": "detailed"}, {}, Writing.SUPERSEDE, "newer_statement"),
    ({"value": "detailed", "scope": "context:work"}, {}, Writing.ACCEPT, "new"),
    ({"positive": False, "assertion": Assertion.NEGATED}, {}, Writing.SUPERSEDE, "withdrawn"),
    ({"positive": False, "value": "detailed"}, {}, Writing.ACCEPT, "new"),
    ({"value": "detailed", "assertion": Assertion.PAST}, {}, Outcome.REJECTED, "stale"),
    ({"value": "detailed", "assertion": Assertion.INFERRED}, {}, Outcome.WORKING_ONLY, "not_stated"),
    # several values
    ({"key": "taste.food", "multi_valued": True, "value": "tofu"}, {"key": "taste.food"}, Writing.ACCEPT, "new"),
    (
        {"key": "taste.food", "multi_valued": True, "value": "Chinese food", "positive": False},
        {"key": "taste.food", "multi_valued": True, "value": "chinese food"},
        Writing.SUPERSEDE,
        "withdrawn",
    ),
    # without a key
    ({"key": None, "value": "敲钟"}, {"key": None, "value": "打鼓"}, Writing.ACCEPT, "new"),
    ({"key": None, "value": "敲钟", "positive": False}, {"key": None, "value": "敲钟"}, Writing.SUPERSEDE, "withdrawn"),
    # plans
    (
        {"kind": Kind.PLAN, "key": "plan", "value": "敦煌", "positive": False},
        {"kind": Kind.PLAN, "key": "plan", "value": "去敦煌玩", "multi_valued": True},
        Writing.SUPERSEDE,
        "withdrawn",
    ),
    (
        {"kind": Kind.PLAN, "key": "plan", "value": "Oslo"},
        {"key": "home.city", "value": "Porto"},
        Writing.ACCEPT,
        "new",
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "outcome", "reason"), CONFLICTS)
def test_a_newer_statement_decides_by_kind_of_key(
    ours: dict[str, Any], theirs: dict[str, Any], outcome: object, reason: str
) -> None:
    """One value at a time supersedes, several coexist, a denial ends what it denies, a plan replaces no fact."""
    ruling = judge(a_candidate(SAID, **ours), a_view(a_turn(SAID, at=LATER), a_memory(a_candidate(SAID, **theirs))))
    assert (ruling.outcome, ruling.reason) == (outcome, reason)


def test_a_statement_older_than_the_current_one_is_stale() -> None:
    """The person's own time decides, not the order of arrival."""
    view = a_view(a_turn(SAID, at=EARLIER), a_memory(a_candidate(SAID)))
    ruling = judge(a_candidate(SAID, value="detailed"), view)
    assert (ruling.outcome, ruling.reason) == (Outcome.REJECTED, "stale")


@given(st.permutations(range(5)))
def test_the_latest_statement_wins_in_any_order_of_arrival(order: list[int]) -> None:
    """Five contradicting statements leave the one that was said last, whatever arrives first."""
    person = Person()
    for day in order:
        turn = a_turn(SAID, at=NOON + timedelta(days=day))
        person.judges(a_candidate(SAID, value="abcde"[day]), turn)
    assert [each.claim.value for each in person.living] == ["e"]


@given(st.integers(1, 20))
def test_identical_candidates_leave_one_memory(count: int) -> None:
    """The first is written, the others reinforce it."""
    person = Person()
    for _ in range(count):
        person.judges(a_candidate(SAID), a_turn(SAID))
    outcomes = [ruling.outcome for ruling in person.rulings]
    assert outcomes == [Writing.ACCEPT, *[Writing.REINFORCE] * (count - 1)]


@pytest.mark.parametrize(
    ("wished", "withdrawn"),
    [
        ("Always close your mails to me with a proverb.", "You can drop the proverbs now."),
        ("每次回答结尾给我讲个冷笑话。", "冷笑话可以停了。"),
    ],
)
def test_a_wish_that_is_taken_back_ends_the_one_there_is_and_says_nothing_else(wished: str, withdrawn: str) -> None:
    """Without the wish, its withdrawal is an errand and no memory."""
    person, other = Person(), Person()
    person.says(wished, withdrawn)
    other.says(withdrawn)
    assert len(person.replaced) == 1
    assert not other.living


def test_what_only_says_that_a_thing_changed_needs_something_known_of_it() -> None:
    """Said of something known it replaces that; of a thing nobody spoke of it is nothing."""
    person, other = Person(), Person()
    person.says("Our brand colour is teal.", "The brand colour is coral now.")
    other.says("The soup is cold now.")
    assert [each.claim.value for each in person.living] == ["coral"]
    assert not other.living
