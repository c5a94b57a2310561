"""Which events of a life are worth remembering."""

import pytest

from events.model import Kind
from tests.unit.extraction.make import claims

_EMOJI = 0x1F000


@pytest.mark.parametrize(
    "said",
    [
        "早上好！周五的电梯口排了二十个人，我爬了九层楼😂",
        "今天我爬了个坡，累。",
        "周五我去了健身房😂",
        "This morning I climbed nine floors 😂",
        "Today I cycled through the rain.",
    ],
)
def test_a_trifle_of_the_same_day_is_small_talk(said: str) -> None:
    """What is of today only, by its word or its weekday, makes no episode."""
    assert not [claim for claim in claims(said) if claim.kind is Kind.EPISODE]


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("上周五我和老婆爬了黄山😂", "和老婆爬了黄山"),
        ("去年秋天我去了敦煌🏜️", "去了敦煌"),
        ("I visited my aunt in Leeds last Friday 🎉", "visited my aunt in Leeds last Friday"),
        ("今天我毕业了🎓", "毕业"),
        ("I got promoted today 🎉", "got promoted today"),
    ],
)
def test_another_time_or_a_milestone_is_an_episode_without_emoji(said: str, value: str) -> None:
    """An event of a named time, or one that changes a life, is kept; emoji are no part of it."""
    found = [claim for claim in claims(said) if claim.kind is Kind.EPISODE]
    assert [value in claim.value for claim in found] == [True]
    assert not any(ord(char) >= _EMOJI for claim in found for char in claim.content + claim.value)


@pytest.mark.parametrize("said", ["以后每次结尾都加个😊。", "From now on, end every reply with 😊."])
def test_a_wish_about_an_emoji_keeps_it(said: str) -> None:
    """A wish may be about an emoji."""
    assert "😊" in claims(said)[0].content
