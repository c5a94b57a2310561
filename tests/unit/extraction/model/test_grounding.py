from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import Assertion, Candidate, Kind, Turn
from services.extraction.extract import extract
from services.extraction.model.answer import Proposed
from services.extraction.model.excerpt import excerpt
from services.extraction.model.grounding import ground
from services.extraction.normalise import normalise
from tests.endpoint import item
from tests.unit.extraction.make import FRIDAY, a_turn


def grounded(said: str, *items: dict[str, object]) -> tuple[list[Candidate], dict[str, int]]:
    """Ground proposals in one message."""
    return grounded_in(a_turn(said), *items)


def grounded_in(turn: Turn, *items: dict[str, object]) -> tuple[list[Candidate], dict[str, int]]:
    shown = excerpt(turn, extract(turn).suppressions, 10_000, len)
    candidates, dropped = ground([Proposed.model_validate(each) for each in items], shown, FRIDAY)
    return list(candidates), dict(dropped)


@pytest.mark.parametrize(
    ("said", "quote", "value", "stands"),
    [
        ("嗯，我住在蘇州。", "我住在苏州", "苏州", "我住在蘇州"),
        ("I Live in GHENT.", "i live in ghent", "Ghent", "I Live in GHENT"),
        ("我的分机是１２０８。", "我的分机是1208", "1208", "我的分机是１２０８"),
        ("I live in Gh\u200bent.", "I live in Ghent", "Ghent", "I live in Gh\u200bent"),
        ("😀 I live in Ghent.", "I live in Ghent", "Ghent", "😀 I live in Ghent"),
        ("I’m from Ghent.", "I'm from Ghent", "Ghent", "I’m from Ghent"),
        ("我 prefer 深色模式。", "我 prefer 深色模式", "深色模式", "我 prefer 深色模式"),
        ("I work at Acme Inc. in Ghent.", "I work at Acme Inc. in Ghent", "Acme Inc", "I work at Acme Inc. in Ghent"),
        ("My doctor is Dr. Wu.", "My doctor is Dr. Wu", "Dr. Wu", "My doctor is Dr. Wu"),
        (
            "I live in the new\nharbour quarter of Ghent.",
            "I live in the new harbour quarter of Ghent",
            "Ghent",
            "I live in the new\nharbour quarter of Ghent",
        ),
    ],
)
def test_a_quote_is_found_behind_width_script_and_case(said: str, quote: str, value: str, stands: str) -> None:
    """The pointer is that of the original characters, and the value and content are the original's."""
    turn = a_turn(said)
    ((candidate,), dropped) = grounded_in(turn, item(quote, value))
    (pointer,) = candidate.evidence
    assert turn.messages[0].content[pointer.start : pointer.end] == stands
    assert normalise(candidate.value).folded == normalise(value).folded
    assert normalise(candidate.content).folded in normalise(said).folded
    assert dropped == {}


@pytest.mark.parametrize(
    ("said", "quote", "value", "reason"),
    [
        ("我住在苏州。", "我住在杭州", "杭州", "not_quoted"),
        ("我住在苏州。", "我 住在苏州", "苏州", "not_quoted"),
        ("我住在苏州。", " ", "苏州", "not_quoted"),
        ("我住在苏州。", "\ufffc", "苏州", "not_quoted"),
        ("```\nI live in Oslo\n```\n我住在苏州。", "I live in Oslo", "Oslo", "not_quoted"),
        ("帮我翻译：我住在苏州", "我住在苏州", "苏州", "not_quoted"),
        ("别记住：我住在苏州。", "我住在苏州", "苏州", "not_quoted"),
        ("[secret:password] is mine, I live in Ghent.", "[secret:password] is mine", "secret", "not_quoted"),
        ("我住在苏州。", "我住在苏州", "杭州", "value_not_in_quote"),
        ("我住在苏州。", "我住在苏州", "。", "value_not_in_quote"),
        ("I like this one.", "I like this one", "this one", "value_not_in_quote"),
        ("I own 125 bikes.", "I own 125 bikes", "25 bikes", "value_not_in_quote"),
        ("I own 125 bikes.", "I own 125 bikes", "12", "value_not_in_quote"),
        ("I like catfish.", "I like catfish", "cat", "value_not_in_quote"),
        ("我住在苏州吗？", "我住在苏州", "苏州", "no_statement"),
        ("Do I live in Ghent?", "I live in Ghent", "Ghent", "no_statement"),
        ("Just kidding, I live in Ghent.", "I live in Ghent", "Ghent", "no_statement"),
        ("我妈妈住在苏州。", "住在苏州", "苏州", "another_person"),
        ("My sister lives in Ghent.", "lives in Ghent", "Ghent", "another_person"),
        ("他说我住在苏州。", "我住在苏州", "苏州", "another_person"),
        ("我不吃牛肉。", "我不吃牛肉", "牛肉", "other_polarity"),
        ("我不吃牛肉。", "牛肉", "牛肉", "other_polarity"),
        ("我讨厌香菜。", "我讨厌香菜", "香菜", "other_polarity"),
        ("香菜就别放了。", "香菜就别放了", "香菜", "other_polarity"),
        ("I can't stand jazz.", "I can't stand jazz", "jazz", "other_polarity"),
        ("I never drink coffee.", "drink coffee", "coffee", "other_polarity"),
        ("I do not hate jazz.", "I do not hate jazz", "jazz", "other_polarity"),
    ],
)
def test_what_the_words_do_not_bear_out_is_dropped(said: str, quote: str, value: str, reason: str) -> None:
    """The reason is counted; a shorter quote does not hide the denial beside it."""
    assert grounded(said, item(quote, value)) == ([], {f"dropped_{reason}": 1})


@pytest.mark.parametrize(
    ("said", "value", "positive"),
    [
        ("我不吃牛肉。", "牛肉", False),
        ("我讨厌香菜。", "香菜", False),
        ("香菜就别放了。", "香菜", False),
        ("以后别用表情。", "表情", False),
        ("别忘了我住在苏州。", "苏州", True),
        ("我特别喜欢爵士乐。", "爵士乐", True),
        ("我不仅喜欢爵士乐。", "爵士乐", True),
        ("我不吃牛肉，喜欢豆腐。", "豆腐", True),
        ("I don't eat beef, I love tofu.", "tofu", True),
        ("I don't eat beef, I love tofu.", "beef", False),
        ("I can't stand jazz.", "jazz", False),
        ("Don't forget I live in Ghent.", "Ghent", True),
        ("I no longer play chess.", "chess", False),
        ("我要无糖的。", "无糖", True),
    ],
)
def test_polarity_is_that_of_the_clause_around_the_value(said: str, value: str, positive: bool) -> None:
    """One side is borne out, the other dropped; what only looks like a denial is none."""
    quote = said.rstrip("。.")
    ((candidate,), _) = grounded(said, item(quote, value, positive=positive))
    assert (candidate.positive, candidate.value) == (positive, value)
    assert grounded(said, item(quote, value, positive=not positive)) == ([], {"dropped_other_polarity": 1})


def test_the_cues_of_the_sentence_colour_the_candidate() -> None:
    """A model makes a claim more doubtful, passing or sensitive, never less."""

    def only(said: str, value: str, **other: object) -> Candidate:
        ((candidate,), _) = grounded(said, item(said.rstrip("。."), value, **other))
        return candidate

    assert only("如果我住在苏州就好了。", "苏州").assertion is Assertion.HYPOTHETICAL
    assert only("我可能住在苏州。", "苏州").confidence < 0.5
    assert only("我住在苏州。", "苏州", confidence=0.3).confidence < 0.5
    assert only("我住在苏州。", "苏州", confidence=1.0).confidence == pytest.approx(0.85)
    assert only("这次用英文回答。", "英文", kind="preference", key="reply.language").ephemeral
    assert only("用英文回答。", "英文", kind="preference", key="reply.language", once=True).ephemeral
    assert not only("以后都用英文回答。", "英文", kind="preference", key="reply.language").ephemeral
    assert only("我对花生过敏。", "花生", key="allergy").sensitivity == "health"
    assert only("我每月吃两种药片。", "两种药片", sensitive="health").sensitivity == "health"
    assert not only("我住在苏州。", "苏州").explicit
    assert only("请记住我住在苏州。", "苏州").explicit
    assert only("我打算下个月去大理。", "大理").kind is Kind.PLAN
    assert only("我打算下个月去大理。", "大理").valid_until is not None
    assert only("我以前住在苏州。", "苏州", assertion="past", key="home.city").kind is Kind.EPISODE
    assert only("我住在苏州。", "苏州", kind="goal", key="home.city").kind is Kind.FACT


def test_the_same_thing_proposed_twice_is_one_candidate() -> None:
    """A model that repeats itself says it once."""
    candidates, _ = grounded("我住在苏州。", *[item("我住在苏州", "苏州", key="home.city")] * 3)
    assert len(candidates) == 1


def spaced(text: str) -> str:
    """Make every run of blanks one: a memory's value lies on one line."""
    return " ".join(text.split())


@given(
    said=st.text(max_size=60),
    quote=st.text(min_size=1, max_size=20),
    value=st.text(min_size=1, max_size=10),
    positive=st.booleans(),
)
def test_a_pointer_always_holds_the_value(said: str, quote: str, value: str, positive: bool) -> None:
    """Whatever is said and proposed: a candidate's value stands within its pointer, in a message of the turn."""
    turn = a_turn(said)
    for each in (item(quote, value, positive=positive), item(said or " ", said[2:5] or " ", positive=positive)):
        candidates, _ = grounded_in(turn, each)
        for candidate in candidates:
            (pointer,) = candidate.evidence
            held = normalise(turn.messages[0].content[pointer.start : pointer.end]).folded
            assert pointer.message_id == turn.messages[0].message_id
            assert spaced(normalise(candidate.value).folded) in spaced(held)


def test_a_message_of_somebody_else_is_no_evidence() -> None:
    """The same words in another message of the turn stay where they are."""
    turn = a_turn("我住在苏州。")
    other = turn.messages[0].model_copy(update={"message_id": uuid4(), "origin": "tool", "content": "我叫沈亦然。"})
    turn = Turn.model_validate(turn.model_dump() | {"messages": (turn.messages[0], other)})
    assert grounded_in(turn, item("我叫沈亦然", "沈亦然")) == ([], {"dropped_not_quoted": 1})
