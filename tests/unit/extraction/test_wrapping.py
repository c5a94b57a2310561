import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.extraction.normalise import normalise
from services.extraction.wrapping import soft_breaks
from tests.unit.extraction.make import claims

WRAPPED = [
    (
        "I moved to my aunt in the old town of New\nYork.",
        "I moved to my aunt in the old town of New York.",
    ),
    ("Our landlord now wants\n900 euro a month.", "Our landlord now wants 900 euro a month."),
    ("I am allergic to\npeanuts", "I am allergic to peanuts"),
    ("My new dentist is Dr.\nLindqvist.", "My new dentist is Dr. Lindqvist."),
    (
        "heads up, choir has moved to the big\nhall as of this\nweek",
        "heads up, choir has moved to the big hall as of this week",
    ),
    ("Hi Anna,\r\nI moved to Delft.", "Hi Anna, I moved to Delft."),
    ("- I never eat pork, since that is how we were\n  raised", "- I never eat pork, since that is how we were raised"),
    (
        "我因为换了工作，从苏州搬到了杭州市余\n杭区的未来科技城。",
        "我因为换了工作,从苏州搬到了杭州市余杭区的未来科技城。",
    ),
    ("我的房租改成\n6000", "我的房租改成 6000"),
    ("我把车换成了比亚\n迪。", "我把车换成了比亚迪。"),
    ("我喜欢喝乌龙\n茶", "我喜欢喝乌龙茶"),
    ("我对花生\n过敏", "我对花生过敏"),
    ("以后每次 review 我的代码，先讲\nblocking 的问题。", "以后每次 review 我的代码,先讲 blocking 的问题。"),
    ("以後會議紀要都按這個\n來。", "以後會議紀要都按這個來。"),
]
APART = [
    "我叫李明\n我住在杭州\n我喜欢猫",
    "我搬到杭州了\n换了工作。",
    "I live in Delft\nI work at a bakery\nI like cats",
    "I moved to Delft.\nWorking at a bakery now.",
    "Moved to Delft\nThanks!",
    "moved to delft\nworking at a bakery now\nlove it",
    "不对\n是 6000",
    "- tea\n- coffee",
    "1. 茶\n2. 咖啡",
    "一、我不吃辣\n二、我不喝酒",
    "# About me\nlives in Delft",
    "About me\nI live in Delft.",
    "> I moved to the old town of New\n> York",
    "```\nlives in\nDelft\n```",
    "Anna: I moved to the old town of the city\nBram: nice, when was that?",
    "小王：我上个月从苏州搬到了杭州市余杭区\n小李：真的？",
    "| home | Delft |\n| work | bakery |",
    "I moved to\n\nDelft",
    "2026-01-01 09:00 started the service in the\n2026-01-01 09:01 stopped the service",
    "Roses are red\nViolets are blue",
    "Groceries\nMilk\nEggs",
    "对\n我住杭州",
    "我住在杭州\n嗯",
    "苹果\n香蕉\n梨",
]


@pytest.mark.parametrize(("content", "joined"), WRAPPED, ids=[content for content, _ in WRAPPED])
def test_a_break_inside_a_sentence_is_none(content: str, joined: str) -> None:
    """What an e-mail or a terminal wrapped reads as it was written; in Chinese nothing stands for the break."""
    assert normalise(content).shown == joined


@pytest.mark.parametrize("content", APART)
def test_lines_of_their_own_stay_apart(content: str) -> None:
    """Lists, headings, quotes, code, tables, chat lines, and short statements below each other are not joined."""
    assert soft_breaks(content) == {}


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("After the flood of last winter, I moved to Bergen op\nZoom.", "Bergen op Zoom"),
        ("I'm allergic to\ncashews and shellfish.", "cashews and shellfish"),
        ("上个月因为工作调动，我从苏州搬到了杭州市余杭\n区。", "杭州市余杭区"),
        ("我对花生和\n腰果过敏。", "花生和腰果"),
    ],
)
def test_a_wrapped_claim_has_its_whole_value(content: str, value: str) -> None:
    """No stump of a value is claimed, and what is claimed points at the words on both lines."""
    (claim,) = claims(content)
    assert claim.value == value
    (evidence,) = claim.evidence
    assert "\n" in content[evidence.start : evidence.end]


@given(st.text(alphabet="ab,.我的。\n\r -#A", max_size=60))
def test_breaks_are_found_in_order_and_hold_nothing_but_blanks(content: str) -> None:
    """What a break takes away is blank, and holds one line break."""
    last = 0
    for start, (end, joint) in soft_breaks(content).items():
        assert last <= start < end
        assert not content[start:end].strip()
        assert content[start:end].count("\n") == 1
        assert joint in {"", " "}
        last = end
