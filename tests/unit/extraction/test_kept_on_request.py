"""Requests to remember, however they are put; exceptions to a wish; and what is not to be noted beside a fact."""

import pytest

from events.model import Kind
from services.extraction.exemplars import Form
from services.extraction.extract import extract
from tests.unit.extraction.make import a_turn, claims


def _lasting(text: str, form: Form = "stated") -> Kind | None:
    """Judge what is lasting by its form worth keeping, and nothing else."""
    del text
    return Kind.FACT if form == "lasting" else None


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Can you remember that I park on level 3?", "I park on level 3"),
        ("Just remember the baths close at noon on Sundays.", "the baths close at noon on Sundays"),
        ("Please keep a note that our van is due a service in March.", "our van is due a service in March"),
        ("Don't let me forget that the tailor needs two weeks.", "the tailor needs two weeks"),
        ("Store this for me: the gate sticks when it rains", "the gate sticks when it rains"),
        ("记一下哈，快递柜取件要带工牌。", "快递柜取件要带工牌"),
        ("帮我存一下，物业电话晚上八点后没人接。", "物业电话晚上八点后没人接"),
        ("给我记着点，老周不吃香菜。", "老周不吃香菜"),
    ],
)
def test_what_is_to_be_remembered_is_kept_without_the_request(said: str, fact: str) -> None:
    """A request to remember is no question, needs no "my", and is no part of what is kept."""
    (found,) = claims(said)
    assert (found.content, found.explicit) == (fact, True)


@pytest.mark.parametrize(
    "said", ["Can you remember what I told you?", "Could you remember to ring me?", "你能记住多少？"]
)
def test_a_question_about_remembering_asks_for_nothing(said: str) -> None:
    """Whether and what is remembered is asked, not told."""
    assert not claims(said)


@pytest.mark.parametrize(
    ("said", "exception"),
    [
        ("Never book me anything before nine. The dentist is the one exception.", "dentist"),
        ("以后周末都别给我排事。看牙除外。", "看牙"),
    ],
)
def test_an_exception_is_part_of_the_wish_before_it(said: str, exception: str) -> None:
    """A rule whose exception stands in the next sentence is one memory."""
    (wish,) = [each for each in extract(a_turn(said), _lasting).candidates if not each.ephemeral]
    assert exception in wish.content


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("我在盐城开茶馆，不过营业额多少就别记了。", "我在盐城开茶馆"),
        ("We keep a tearoom in Whitby, but don't write down what it makes.", "We keep a tearoom in Whitby"),
    ],
)
def test_what_is_not_to_be_noted_leaves_the_fact_beside_it(said: str, fact: str) -> None:
    """A wish that names its own object covers that alone."""
    turn = a_turn(said)
    read = extract(turn, _lasting)
    (found,), (unsaid,) = read.candidates, read.suppressions
    assert found.content == fact
    assert all(found.evidence[0].end <= span.start for span in (unsaid.evidence, *unsaid.covers))


@pytest.mark.parametrize("said", ["我体重八十二公斤，不过具体多少别记。", "我一顿吃五两，这个别记。"])
def test_a_number_that_is_not_to_be_noted_is_covered_where_it_stands(said: str) -> None:
    """A bare "but not how much" means the number that was said before."""
    read = extract(a_turn(said), _lasting)
    covered = [span for each in read.suppressions for span in (each.evidence, *each.covers)]
    assert all(
        any(point.start < span.end and span.start < point.end for span in covered)
        for each in read.candidates
        for point in each.evidence
    )
