"""What is said in plain words of how things are for good, told apart from what is so for the moment."""

import pytest

from services.extraction.normalise import normalise
from services.extraction.plain import lasting
from services.extraction.segment import sentences


def _read(said: str) -> str | None:
    (sentence, *_) = sentences(normalise(said).folded)
    found = lasting(sentence)
    return None if found is None else found.text


@pytest.mark.parametrize(
    "said",
    [
        "We have six bedrooms at the guesthouse",
        "I look after the northern accounts",
        "My kiln fires to 1240 degrees",
        "Our invoices go out on the 25th",
        "These days I cycle everywhere",
        "I'm a locum at two surgeries",
        "我管着两条灌装线",
        "我们民宿有六间房",
        "我家鱼塘养的是鲈鱼",
        "我做鞋底这一行二十年了",
        "我们 sprint 是两周",
        "The app I'm building is called Trellis",
    ],
)
def test_the_plain_present_of_the_person_is_lasting(said: str) -> None:
    """Whatever the verb, a claim about the person or a thing of theirs stands where nothing ties it to the moment."""
    assert _read(said) == normalise(said).folded


@pytest.mark.parametrize(
    "said",
    [
        "I'm tired",
        "I'm in a hurry",
        "I only want to see the outline",
        "We lost the game yesterday",
        "My code doesn't compile",
        "I need a table with three columns",
        "We're on step 3 of the move",
        "The second draft reads better",
        "我今天没睡好",
        "我正在写作业",
        "我在地铁上",
        "我的 build 又挂了",
        "我排队排了一个小时",
        "我们刚吵了一架",
        "这版不错",
        "My function takes two arguments and returns a list",
        "My sentence sounds clumsy, make it smoother",
        "I read your summary",
        "I run the script and get a traceback",
        "Our flight boards in ten minutes",
        "我的光标一直跳",
        "我运行脚本就报错",
        "我用的是你给的第二个公式",
        "我家停电",
        "I vote for option B",
        "My money's on the red team",
        "我选第三个",
        "我们十二点出发",
    ],
)
def test_what_is_so_for_the_moment_is_not(said: str) -> None:
    """Moods, wants, progress, what is over, what is worked on and what is said of something else are not lasting."""
    assert _read(said) is None


def test_what_follows_of_the_moment_is_left_out() -> None:
    """A lasting clause is kept without the passing one behind it."""
    assert _read("I teach the cello, and I am tired today") == "i teach the cello"
    assert _read("我教大提琴，今天有点累") == "我教大提琴"
