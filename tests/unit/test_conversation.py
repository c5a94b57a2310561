import json
import re
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from events.model import Origin
from services.wire.limits import Limits
from services.wire.reading import read
from services.wire.turns import TurnIn

GOLDEN = Path(__file__).parent.parent / "golden"
TURNS: list[dict[str, Any]] = [
    json.loads(line) for line in (GOLDEN / "conversation.jsonl").read_text(encoding="utf-8").splitlines()
]
EXPECTED: list[dict[str, Any]] = json.loads((GOLDEN / "conversation.expect.json").read_text(encoding="utf-8"))
BY_ROLE = {"user": "user", "assistant": "assistant", "system": "injected", "tool": "tool"}
HAN = re.compile(r"[\u4e00-\u9fff]")


def spoken(turn: dict[str, Any]) -> str:
    """What the person said in the turn."""
    return "\n".join(m["content"] for m in turn["messages"] if m["role"] == "user")


def all_text(turn: dict[str, Any]) -> str:
    """Everything in the turn, whoever said it."""
    return "\n".join(m["content"] for m in turn["messages"])


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn["turn_id"])
def test_every_turn_has_the_documented_form(turn: dict[str, Any]) -> None:
    """The strict reader of the doors takes it, with one time of day and no empty message."""
    taken = read(TurnIn, json.dumps(turn).encode(), Limits())
    assert taken.turn_id == turn["turn_id"]
    assert turn["schema"] == "cenotaph.turn/1"
    assert turn["occurred_at"].endswith("+08:00")
    assert all(message.content.strip() for message in taken.messages)


def test_the_conversation_covers_what_it_promises() -> None:
    """Enough turns and sessions over several weeks of one year, both languages and both at once, every origin."""
    times = [datetime.fromisoformat(turn["occurred_at"]).astimezone(UTC) for turn in TURNS]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert (times[-1] - times[0]).days >= 28
    assert len(TURNS) >= 45
    assert len({turn["session_id"] for turn in TURNS}) >= 5
    assert len({turn["turn_id"] for turn in TURNS}) == len(TURNS)
    of_turns = {str(origin) for origin in set(Origin) - {Origin.SYSTEM}}  # a system's statement is no part of a turn
    assert {m.get("origin", BY_ROLE[m["role"]]) for turn in TURNS for m in turn["messages"]} == of_turns
    languages = Counter(
        (bool(HAN.search(spoken(turn))), bool(re.search(r"[A-Za-z]{3,} [A-Za-z]{2,}", spoken(turn)))) for turn in TURNS
    )
    assert min(languages[True, False], languages[False, True], languages[True, True]) >= 8


def test_every_turn_has_an_expectation_and_most_leave_nothing() -> None:
    """A reader's list that skipped turns would hide wrong writes."""
    assert {e["turn_id"] for e in EXPECTED} == {turn["turn_id"] for turn in TURNS}
    kept = {e["turn_id"] for e in EXPECTED if e["expect"] in {"kept", "reinforced", "superseded"}}
    assert len(kept) < len(TURNS) / 2
    alone = Counter(e["turn_id"] for e in EXPECTED)
    assert all(alone[e["turn_id"]] == 1 for e in EXPECTED if e["expect"] in {"nothing", "held", "refused"})


@pytest.mark.parametrize("entry", EXPECTED, ids=lambda entry: f"{entry['turn_id']}-{entry['expect']}")
def test_every_expectation_rests_on_what_was_said(entry: dict[str, Any]) -> None:
    """What is kept or held stands in the person's words, what tempts stands in the turn, what ends was kept before."""
    turn = next(turn for turn in TURNS if turn["turn_id"] == entry["turn_id"])
    assert set(entry) == {"turn_id", "expect", "words"}
    match entry["expect"]:
        case "kept" | "held" | "refused":
            assert any(word in spoken(turn) for word in entry["words"])
        case "reinforced" | "superseded":
            kept = {e["turn_id"] for e in EXPECTED if e["expect"] == "kept"}
            before = [t for t in TURNS[: TURNS.index(turn)] if t["turn_id"] in kept]
            assert any(word in spoken(t) for t in before for word in entry["words"])
        case "nothing":
            assert not entry["words"] or any(word in all_text(turn) for word in entry["words"])
        case other:
            pytest.fail(f"unknown expectation {other}")
