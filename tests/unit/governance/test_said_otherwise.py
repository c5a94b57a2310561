"""Changes and wishes in forms that only people use: polite questions, corrections by "it", words of both languages."""

import pytest

from tests.unit.extraction.make import claims
from tests.unit.governance.make import Person

TOLD = [
    ("我在乐团吹长号", "长号我早就不吹了", "不再吹长号"),
    ("我们诊所每周三休诊", "休诊改到周四了", "周四"),
    ("My usual tea's an Assam", "I've gone off Assam", "dislikes Assam"),
    ("I drive a petrol van", "I drive the electric van now", "electric van"),
    ("有 alert 都发我 Slack", "以后 alert 改发 Teams 吧", "Teams"),
    ("My car's a Fabia", "I drive a Yaris now", "Yaris"),
    ("以后给我做的海报都用 4:3", "All the posters you make for me should be 4:3, always.", "4:3"),
]


@pytest.mark.parametrize(("one", "other", "value"), TOLD[:-1], ids=[other for _, other, _ in TOLD[:-1]])
def test_the_newer_stands(one: str, other: str, value: str) -> None:
    """What is given up, closed on another day, no longer the usual one, or sent elsewhere replaces what it was."""
    person = Person()
    person.says(one, other)
    (stands,) = person.living
    assert value in f"{stands.claim.value} {stands.claim.content}"


def test_one_rule_for_pictures_in_two_languages_is_one() -> None:
    """The thing it is about has a name in both languages."""
    person = Person()
    person.says("以后给我做的图都用 4:3", "All the images you make for me should be 4:3, always.")
    assert len(person.living) == 1


@pytest.mark.parametrize(
    ("content", "key", "value"),
    [
        ("Might I ask that you address me as Prof. Adeyemi rather than Mrs?", "identity.called", "Prof"),
        ("My reading group meets on the last Tuesday of the month", "reading_group.day", "last Tuesday of the month"),
        ("我们读书会定在每月第二个周六", "读书会.day", "第二个周六"),
        ("我今年的 goal 是跑进 3.5 小时，主要是耐力不够", "goal", "3.5"),
        ("我们这个 bot 现在是 Kotlin 写的", "bot.is", "Kotlin"),
        ("这学期起我改教高二了", "work.role", "高二"),
    ],
)
def test_a_fact_in_passing(content: str, key: str, value: str) -> None:
    """Ordinals, decimals, formal requests and mixed words are read whole."""
    assert any(claim.key == key and value in claim.value for claim in claims(content))


@pytest.mark.parametrize(
    "content",
    [
        "您推荐电影的时候能不能附上片长？太长的我坐不住，以后都麻烦您带上。",
        "Could you put the running time next to a film? Two hours is my limit. Every time, do that please.",
    ],
)
def test_a_polite_question_is_a_wish_where_it_is_meant_for_good(content: str) -> None:
    """What is asked for once and then "every time" is wanted every time; the question alone asks."""
    assert any("片长" in claim.content or "running time" in claim.content for claim in claims(content))
    question = content[: max(content.find("?"), content.find("？")) + 1]
    assert not claims(question)


def test_only_this_once_is_stronger_than_always() -> None:
    """A limit to one time holds also where the order says "all"."""
    (claim,) = claims("just for this trip 帮我都订 first class 吧")
    assert claim.ephemeral


def test_it_stands_for_what_was_said_before() -> None:
    """A correction by "it" and the same verb gives the last claim another value."""
    said = "My choir meets on the first Tuesday of the month. Sorry, typo, it meets on the last Tuesday of the month."
    assert [claim.value for claim in claims(said)][-1:] == ["the last Tuesday of the month"]
