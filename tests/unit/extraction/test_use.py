"""A statement whose use the person names is a fact worth keeping, without the words that name the use."""

import pytest

from events.model import Kind
from services.extraction.exemplars import Form
from services.extraction.extract import extract
from tests.unit.extraction.make import a_turn


def _never(text: str, form: Form = "stated") -> Kind | None:
    """Judge nothing worth keeping by example."""
    del text, form
    return None


def _kept(said: str) -> list[str]:
    return [each.content for each in extract(a_turn(said), _never).candidates if not each.ephemeral]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        (
            "The press turns out 90 sheets an hour, use that when you plan my runs.",
            "The press turns out 90 sheets an hour",
        ),
        ("My tearoom seats 24, so go by that.", "My tearoom seats 24"),
        ("My loom only takes fine yarn. Keep that in mind when you suggest patterns.", "My loom only takes fine yarn"),
        ("The lorry takes 900 kilos, that's the number to use.", "The lorry takes 900 kilos"),
        ("We have two forklifts, factor that into the rota.", "We have two forklifts"),
        ("我们窑一炉最多烧六十件，排单就按这个来。", "我们窑一炉最多烧六十件"),
        ("我家餐桌坐八个人，请客你就照这个算。", "我家餐桌坐八个人"),
        ("我们车间节拍是四十秒，以这个为准。", "我们车间节拍是四十秒"),
        ("仓库层高四米二，画图按这个数。", "仓库层高四米二"),
        ("就当参考：我们果园一亩产三千斤。", "我们果园一亩产三千斤"),
        ("我们 sprint 两周一个，排 roadmap 就用这个 cadence。", "我们 sprint 两周一个"),
    ],
)
def test_what_is_to_be_reckoned_with_is_kept(said: str, fact: str) -> None:
    """The statement is kept whatever its words; "go by that" is no part of it."""
    assert _kept(said) == [fact]


@pytest.mark.parametrize(
    "said",
    [
        "The second draft reads better, go with that.",
        "Today there are nine of us, plan around that.",
        "This time it is 12, use that.",
        "The meeting is at three, use that.",
        "OK, use that.",
        "我觉得第二个标题好，就用它。",
        "这次来 12 个人，按这个算。",
        "我数了一下一共三页，按这个打印。",
        "行，就照这个算。",
    ],
)
def test_what_is_used_once_is_not(said: str) -> None:
    """What the assistant made, a count of today and an order that points are no facts about the person."""
    assert not _kept(said)


def test_a_wish_that_is_to_hold_stays_a_wish() -> None:
    """A prohibition that is to be gone by is one rule, read whole."""
    (wish,) = extract(a_turn("我的稿子标题都别超过 15 个字，以后改稿就按这个来。"), _never).candidates
    assert wish.kind in {Kind.PREFERENCE, Kind.FORMAT}
