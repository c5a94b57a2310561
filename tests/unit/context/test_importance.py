from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import MessageId, Role
from services.context.importance import is_small_talk, wanted
from services.context.values import Said


def said(*texts: str) -> list[Said]:
    """Say things one after the other; results of tools begin with `result`."""
    return [
        Said(MessageId(UUID(int=n)), Role.TOOL if text.startswith("result") else Role.USER, text)
        for n, text in enumerate(texts)
    ]


def test_the_question_is_wanted_first_and_small_talk_last() -> None:
    """What was said last, then what binds or asks, then results by reference, then the rest, then small talk."""
    recent = said(
        *("预算不能超过3000元", "Hello there!", "result t-1/m-2 (90 characters)", "The weather was fine."),
        *("Book a room, please", "谢谢！", "Fine by me", "哪家酒店？"),
    )
    assert [recent[place].text for place in wanted(recent)] == [
        *("哪家酒店？", "Fine by me", "Book a room, please", "预算不能超过3000元", "result t-1/m-2 (90 characters)"),
        *("The weather was fine.", "谢谢！", "Hello there!"),
    ]


@pytest.mark.parametrize(
    "text", ["Hi!", "thanks, great", "OK.", "你好呀", "好的，谢谢！", "嗯嗯", "早上好", "Got it, bye"]
)
def test_small_talk_is_known(text: str) -> None:
    """Greetings, thanks and nods, in both languages."""
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text", ["Hi, book a room", "好的，预算3000", "谢谢，不要坐飞机", "ok with peanuts", "no", "不"]
)
def test_what_says_something_is_no_small_talk(text: str) -> None:
    """A nod that comes with anything else, or that decides something, is kept like any other message."""
    assert not is_small_talk(text)


@given(st.lists(st.text(max_size=12), max_size=8))
def test_every_message_wants_in_once(texts: list[str]) -> None:
    """No message is lost or doubled by the order."""
    assert sorted(wanted(said(*texts))) == list(range(len(texts)))
