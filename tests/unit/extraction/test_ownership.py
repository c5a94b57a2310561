"""Whose thing, habit or project it is: what the words before say of somebody else is not the person's."""

import pytest

from tests.unit.extraction.make import claims


@pytest.mark.parametrize(
    "content",
    [
        "我妈的车卖掉了，换了台小鹏",
        "我爸退休了，在学书法",
        "我姐养了只猫，叫团团",
        "My mom's car died, bought a Tesla",
    ],
)
def test_what_somebody_else_is_said_to_have_is_not_the_persons(content: str) -> None:
    """A clause without a subject has the one before it, also where that is a thing of somebody's."""
    assert not [claim for claim in claims(content) if claim.key in {"tool.car", "hobby", "pet"}]


@pytest.mark.parametrize(
    ("content", "value"), [("我的车卖掉了，换了台小鹏", "小鹏"), ("我老婆怀孕了，我换了台小鹏", "小鹏")]
)
def test_what_the_person_has_is_theirs(content: str, value: str) -> None:
    """Their own thing before, or their own word in the clause, makes it the person's."""
    assert value in {claim.value for claim in claims(content) if claim.key == "tool.car"}


@pytest.mark.parametrize(
    ("content", "sensitivity"),
    [
        ("I make 3 cakes every week", None),
        ("I make about 200 candles a month", None),
        ("I make 60k a year", "finance"),
        ("I make $25 an hour", "finance"),
        ("We still owe the builder nine thousand", "finance"),
        ("我还欠信用社两万", "finance"),
        ("I make 3 thousand a month", "finance"),
    ],
)
def test_what_is_made_is_money_where_no_thing_is_counted(content: str, sensitivity: str | None) -> None:
    """A number before a thing counts things; alone, with a currency or per month it is an income."""
    assert {claim.sensitivity for claim in claims(content)} <= {sensitivity}
    assert bool(claims(content)) is (sensitivity is not None)


@pytest.mark.parametrize(
    ("content", "sensitivity"),
    [
        ("We're at 9 Invented Crescent, apartment 4C", "location"),
        ("I live at 12b Made Up Mews", "location"),
        ("I've been a member of the Harbour Party for years", "politics"),
        ("I've been a member of a rowing club for years", None),
        ("We keep 12 hens in the gardens", None),
    ],
)
def test_an_address_and_a_membership_of_a_party_are_sensitive(content: str, sensitivity: str | None) -> None:
    """However the street is called, and whichever party it is."""
    assert {claim.sensitivity for claim in claims(content)} <= {sensitivity}
    assert sensitivity is None or claims(content)


@pytest.mark.parametrize("content", ["I always forget on Mondays", "I always forget my keys on Mondays"])
def test_a_mishap_is_no_appointment(content: str) -> None:
    """What goes wrong on a day is not what is done on it."""
    assert not [claim for claim in claims(content) if claim.key and claim.key.endswith(".day")]


@pytest.mark.parametrize(
    ("content", "scope", "value"),
    [
        ("Falcon's backend is Go.", "project:falcon", "Go"),
        ("Falcon is written in Rust.", "project:falcon", "Rust"),
        ("Falcon 的后端是 Go", "project:falcon", "Go"),
        ("在 Falcon 里我们用 Postgres", "project:falcon", "Postgres"),
    ],
)
def test_a_project_needs_no_word_for_one(content: str, scope: str, value: str) -> None:
    """A part that only software has, or what a thing is written in, makes its name one of a project."""
    (claim,) = claims(content)
    assert (claim.scope, claim.value) == (scope, value)


@pytest.mark.parametrize("content", ["Falcon's backend is down.", "在 Excel 里用宏", "Anna is based in Rome and happy"])
def test_other_names_are_no_projects(content: str) -> None:
    """A passing state, an order inside a program and a person claim nothing of a project."""
    assert not [claim for claim in claims(content) if claim.scope.startswith("project:")]
