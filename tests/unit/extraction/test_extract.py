import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import Message, MessageId, Origin, Role, TurnStatus
from services.extraction.extract import extract
from services.extraction.frames import frames
from services.extraction.vocabulary import vocabulary
from services.governance.policy import load_policy
from tests.unit.extraction.make import a_turn, claims

PIECES = [
    *"我不：，。？“」'\n．🐧",
    *[
        "喜欢",
        "以后",
        "都用",
        "英文",
        "这次",
        "别记",
        "下个月",
        "打算",
        "live",
        "always",
        "my",
        "is",
        "not",
        "I",
        "Porto",
        ">",
        "```",
        "<b>",
    ],
]
PIECES += [" ", "\u200b", "2 个空格", "[secret:password]"]
HOSTILE = [
    "我",
    "喜欢",
    "i ",
    "i love ",
    "my ",
    "，",
    "a",
    "以后",
    "'",
    '"',
    "「",
    "<b>",
    "`",
    "是",
    "都",
    "1",
    "our x is ",
    "for this ",
]


@given(st.text(max_size=400))
def test_any_text_can_be_read(content: str) -> None:
    """No text makes the extractor fail, and evidence lies inside the message."""
    for claim in claims(content):
        assert all(0 <= span.start < span.end <= len(content) for span in claim.evidence)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_mixture_of_words_can_be_read(content: str) -> None:
    """Cues and frames in any order keep their evidence inside the message and their content short."""
    found = extract(a_turn(content))
    spans = [span for claim in found.candidates for span in claim.evidence]
    spans += [span for wish in found.suppressions for span in (wish.evidence, *wish.covers)]
    assert all(0 <= span.start < span.end <= len(content) for span in spans)
    assert all(claim.value.strip() and 0 < len(claim.content) <= 400 for claim in found.candidates)


@pytest.mark.parametrize("unit", HOSTILE)
def test_reading_is_linear(unit: str) -> None:
    """A hundred thousand characters of one unit take seconds at most."""
    content = unit * (100_000 // len(unit))
    started = time.process_time()
    claims(content)
    assert time.process_time() - started < 10


def test_only_the_persons_messages_of_a_completed_turn_are_read() -> None:
    """Tools, agents and injected memory say nothing about the person; neither does a broken turn."""
    foreign = tuple(
        Message(message_id=MessageId(a_turn("").turn_id), role=Role.TOOL, origin=origin, content="I live in Porto.")
        for origin in Origin
        if origin is not Origin.USER
    )
    turn = a_turn("I live in Ghent.")
    mixed = turn.model_copy(update={"messages": (*foreign, *turn.messages)})
    assert [claim.value for claim in extract(mixed).candidates] == ["Ghent"]
    for status in (TurnStatus.CANCELLED, TurnStatus.FAILED):
        assert extract(a_turn("I live in Ghent.", status=status)).candidates == ()


def test_extraction_is_deterministic() -> None:
    """The same turn yields the same candidates."""
    turn = a_turn("我叫沈一然，住在苏州。以后回答简洁一点，用英文。")
    assert extract(turn) == extract(turn)


def test_the_evidence_is_the_words_that_were_said() -> None:
    """A pointer leads to the sentence in the message as written, traditional characters and all."""
    content = "早安！以後跟我對話請一律用繁體中文。"
    span = claims(content)[0].evidence[0]
    assert content[span.start : span.end] == "以後跟我對話請一律用繁體中文"


def test_every_sensitivity_of_the_vocabulary_is_one_of_the_policy() -> None:
    """A class nobody holds would be a hole."""
    classes = {key.sensitivity for key in vocabulary().values() if key.sensitivity}
    assert classes <= load_policy().sensitive


def test_every_frame_compiles_and_names_a_known_key() -> None:
    """The data files are validated when they are read."""
    assert {frame.key for frame, _ in frames() if frame.key and not frame.tool} <= set(vocabulary())


@pytest.mark.parametrize(
    ("before", "now", "value"),
    [
        ("I love Chinese food", "I hate it now.", "Chinese food"),
        ("我喜欢吃川菜", "我现在讨厌它了。", "川菜"),
        ("I love Chinese food", "I hate it.", None),
        ("I love Chinese food", "I love it now.", None),
        ("How is Chinese food made?", "I hate it now.", None),
        ("Do not remember this: I love Chinese food.", "I hate it now.", None),
        ("别记住：我喜欢吃川菜。", "我现在讨厌它了。", None),
    ],
)
def test_an_attitude_of_the_turn_before_is_turned_round(before: str, now: str, value: str | None) -> None:
    """What "it" is may stand in the turn before, if this very attitude is over; the evidence is this turn's alone."""
    earlier = a_turn(before).messages[0]
    turn = a_turn(now).model_copy(update={"before": (earlier,)})
    found = extract(turn).candidates
    assert [each.value for each in found] == ([value] if value else [])
    for each in found:
        assert not each.positive
        assert [pointer.message_id for pointer in each.evidence] == [turn.messages[0].message_id]
        assert each.confidence < claims(before)[0].confidence
