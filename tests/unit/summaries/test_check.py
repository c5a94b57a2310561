from pathlib import Path
from uuid import UUID

import pytest

from events.model import MemoryId, MessageId, Origin, SummarySlot
from services.summaries.check import problems
from services.summaries.draft import Heard, Known, Line, Material
from services.summaries.rules import draft

C, F, G = SummarySlot.CONSTRAINT, SummarySlot.FACT, SummarySlot.GOAL
MEMORY = MemoryId(UUID(int=900))
PAGE = Path(__file__).parents[3] / "services" / "summaries" / "TRAPS.md"


def said(*texts: str, origin: Origin = Origin.USER, start: int = 1) -> tuple[Heard, ...]:
    """Say things one after the other."""
    return tuple(Heard(MessageId(UUID(int=n)), origin, text, n, f"t{n}/m0") for n, text in enumerate(texts, start))


def resting(slot: SummarySlot, text: str, *messages: int) -> Line:
    """Write a line that rests on messages by their numbers."""
    return Line(slot, text, messages=tuple(MessageId(UUID(int=each)) for each in messages))


TRAPS: list[tuple[str, tuple[str, ...], tuple[Line, ...], tuple[Line, ...], str]] = [
    # name, what the person said, the summary before, the new one, the reason it is held for
    ("zh vanished", ("预算不能超过3000元",), (resting(C, "预算不能超过3000元", 1),), (), "constraint_vanished"),
    (
        "en vanished",
        ("Never call me before 10.",),
        (resting(C, "Never call me before 10.", 1),),
        (),
        "constraint_vanished",
    ),
    (
        "zh another bound",
        ("预算不能超过3000元", "继续"),
        (resting(C, "预算不能超过3000元", 1),),
        (resting(C, "预算不能超过5000元", 1),),
        "constraint_flipped",
    ),
    (
        "en another bound",
        ("No more than 20 people.", "go on"),
        (resting(C, "No more than 20 people.", 1),),
        (resting(C, "No more than 200 people.", 1),),
        "constraint_flipped",
    ),
    (
        "zh the not is gone",
        ("不要把客户名字写进报告", "继续"),
        (resting(C, "不要把客户名字写进报告", 1),),
        (resting(C, "把客户名字写进报告", 1),),
        "constraint_flipped",
    ),
    (
        "en the not is gone",
        ("Do not share the draft with legal.", "go on"),
        (resting(C, "Do not share the draft with legal.", 1),),
        (resting(C, "Share the draft with legal.", 1),),
        "constraint_flipped",
    ),
    ("zh the not is lost at once", ("我不吃花生",), (), (resting(F, "我吃花生", 1),), "negation_changed"),
    (
        "en the not is lost at once",
        ("I don't eat peanuts.",),
        (),
        (resting(F, "I eat peanuts.", 1),),
        "negation_changed",
    ),
    ("zh a not out of nowhere", ("我吃花生",), (), (resting(F, "我不吃花生", 1),), "negation_changed"),
    ("en a not out of nowhere", ("I eat peanuts.",), (), (resting(F, "I never eat peanuts.", 1),), "negation_changed"),
    ("zh a fact from nowhere", ("你好",), (), (Line(F, "用户住在杭州"),), "without_source"),
    ("en a fact from nowhere", ("hi",), (), (Line(F, "The user lives in Utrecht."),), "without_source"),
    (
        "zh a source that says something else",
        ("今天天气不错",),
        (),
        (resting(F, "用户住在杭州", 1),),
        "not_in_its_source",
    ),
    (
        "en a source that says something else",
        ("Nice weather.",),
        (),
        (resting(F, "lives in Utrecht", 1),),
        "not_in_its_source",
    ),
    ("zh a source that is not there", ("你好",), (), (resting(F, "用户住在杭州", 7),), "without_source"),
    ("en a source that is not there", ("hi",), (), (resting(G, "Write the report", 7),), "without_source"),
    ("zh a guess becomes a fact", ("我可能下周去杭州",), (), (resting(F, "下周去杭州", 1),), "guess_as_fact"),
    (
        "en a guess becomes a fact",
        ("Maybe I move to Utrecht.",),
        (),
        (resting(F, "I move to Utrecht.", 1),),
        "guess_as_fact",
    ),
    ("zh a number becomes another", ("我有3个孩子",), (), (resting(F, "我有5个孩子", 1),), "number_changed"),
    (
        "en a number becomes another",
        ("I have 3 children.",),
        (),
        (resting(F, "I have 5 children.", 1),),
        "number_changed",
    ),
]


@pytest.mark.parametrize(
    ("heard", "before", "lines", "reason"), [trap[1:] for trap in TRAPS], ids=[t[0] for t in TRAPS]
)
def test_a_trap_is_caught(
    heard: tuple[str, ...], before: tuple[Line, ...], lines: tuple[Line, ...], reason: str
) -> None:
    """A summary that lost, turned round or made up something is held, for this reason."""
    assert reason in problems(lines, Material(said(*heard), before=before))


@pytest.mark.parametrize("language", ["zh", "en"])
def test_what_the_assistant_said_is_no_fact_about_the_person(language: str) -> None:
    """A fact needs the person's own words or a memory; an agent's answer is neither."""
    text = {"zh": "您住在杭州", "en": "You live in Utrecht."}[language]
    material = Material(said(text, origin=Origin.ASSISTANT))
    assert problems((resting(F, text, 1),), material) == {"without_source": 1}


@pytest.mark.parametrize(
    ("task", "line"), [("预算不能超过3000元", "预算不能超过5000元"), ("no planes at all", "Planes at all times.")]
)
def test_a_constraint_against_the_running_task_is_held(task: str, line: str) -> None:
    """What contradicts a constraint of a running task does not become the session's, though somebody said it."""
    material = Material(said(line), constraints=(task,))
    assert problems((resting(C, line, 1),), material) == {"against_the_task": 1}


@pytest.mark.parametrize(
    ("first", "then"),
    [("预算不能超过3000元", "预算不能超过5000元"), ("No more than 20 people.", "No more than 30 people.")],
)
def test_the_person_may_change_a_constraint(first: str, then: str) -> None:
    """What the person says otherwise later is the constraint, and nothing speaks against it."""
    material = Material(said(first, then), before=(resting(C, first, 1),))
    lines = draft(material)
    assert [line.text for line in lines if line.slot is C] == [then]
    assert problems(lines, material) == {}


CONVERSATION = said(
    "帮我写一份销售周报。预算不能超过3000元。",
    "I don't want any customer names in it; never send it before Friday.",
    "我可能下周去杭州",
    "What about the figures?",
)


def test_the_rules_write_slots_with_sources_that_hold() -> None:
    """Goal, constraints and facts in the person's own words; a guess is none of them; nothing speaks against it."""
    known = (Known(MEMORY, "不吃牛肉", (MessageId(UUID(int=1)),)),)
    tool = Heard(MessageId(UUID(int=50)), Origin.TOOL, "a long table", 50, "t50/m0")
    material = Material((*CONVERSATION, tool), known=known)
    lines = draft(material)
    assert [(line.slot.value, line.text) for line in lines] == [
        ("goal", "帮我写一份销售周报。"),
        ("constraint", "never send it before Friday."),
        ("constraint", "I don't want any customer names in it;"),
        ("constraint", "预算不能超过3000元。"),
        ("fact", "不吃牛肉"),
        ("result", "t50/m0"),
        ("question", "What about the figures?"),
    ]
    assert all(line.messages or line.memories for line in lines)
    assert problems(lines, material) == {}


def test_a_summary_of_a_summary_keeps_what_its_messages_said() -> None:
    """When the messages are out of reach, constraints and goal of the summary before stay."""
    first = draft(Material(CONVERSATION))
    later = Material(said("继续", "好的", start=101), before=first)
    again = draft(later)
    assert {line.text for line in again} >= {line.text for line in first if line.slot in {C, G}}
    assert problems(again, later) == {}


def trap_table() -> str:
    """Return the page of all traps as a Markdown table; write it with `python -m tests.unit.summaries.test_check`."""
    rows = [
        f"| {name} | {' / '.join(heard)} | {' / '.join(line.text for line in before)} | "
        f"{' / '.join(line.text for line in lines)} | `{reason}` |"
        for name, heard, before, lines, reason in TRAPS
    ]
    return "\n".join(
        (
            "# Traps for summaries",
            "",
            "Every one of these new summaries is held, whoever wrote it, and the old one stays (R51). Made from",
            "`tests/unit/summaries/test_check.py`.",
            "",
            "| trap | what was said | summary before | new summary | held for |",
            "|---|---|---|---|---|",
            *rows,
            "",
        )
    )


def test_the_page_of_traps_is_up_to_date() -> None:
    """Every trap has its row, and every row is a trap that is caught."""
    assert PAGE.read_text(encoding="utf-8") == trap_table(), "write it with: python -m tests.unit.summaries.test_check"


if __name__ == "__main__":
    PAGE.write_text(trap_table(), encoding="utf-8")
