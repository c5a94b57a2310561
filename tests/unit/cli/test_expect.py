from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from cenotaph.answers import Memory, Outcome, Source, Verdict
from ops.cli.demo.expect import Expectation, Observed, met, wrongly_kept

TEA = UUID(int=1)


def memory(status: str, content: str, *turns: str, version: int | None = 1) -> Memory:
    fields: dict[str, Any] = dict.fromkeys(Memory.model_fields)
    return Memory.model_validate(
        fields
        | {
            "memory_id": TEA,
            "version": version,
            "status": status,
            "kind": "preference",
            "content": content,
            "confidence": 0.9,
            "importance": 0.5,
            "recorded_at": datetime(2026, 8, 1, tzinfo=UTC),
            "sources": [
                Source(turn_id=turn, message_id="m1", start=0, end=1, state="readable").model_dump() for turn in turns
            ],
        }
    )


def outcome(result: str, version: int | None) -> Outcome:
    verdict = Verdict(memory_id=TEA, outcome=result, gate=None, reason=None, kind="preference", version=version)
    return Outcome(turn_id="t1", state="considered", verdicts=(verdict,), counts={})


def wanted(expect: str, *words: str) -> Expectation:
    return Expectation.model_validate({"turn_id": "t1", "expect": expect, "words": words})


ACTIVE = Observed({"t1": outcome("accepted", 1)}, [memory("active", "喜欢茉莉花茶", "t1")])
HELD = Observed({"t1": outcome("held", None)}, [memory("held", "对青霉素过敏", "t1", version=None)])
AGAIN = Observed({"t1": outcome("reinforced", 1)}, [memory("active", "喜欢茉莉花茶", "t0")])
RENEWED = Observed(
    {"t1": outcome("accepted", 2)},
    [memory("superseded", "likes Jasmine tea", "t0"), memory("active", "likes coffee", "t1", version=2)],
)
EMPTY = Observed({"t1": outcome("rejected", None)}, [])


@pytest.mark.parametrize(
    ("entry", "seen", "expected"),
    [
        (wanted("kept", "green", "茉莉"), ACTIVE, True),
        (wanted("kept", "香菜"), ACTIVE, False),
        (wanted("kept", "青霉素"), HELD, False),
        (wanted("kept", "茉莉"), AGAIN, False),
        (wanted("held", "青霉素"), HELD, True),
        (wanted("held", "茉莉"), ACTIVE, False),
        (wanted("reinforced", "茉莉"), AGAIN, True),
        (wanted("reinforced", "茉莉"), ACTIVE, False),
        (wanted("superseded", "jasmine"), RENEWED, True),
        (wanted("superseded", "coffee"), RENEWED, False),
        (wanted("refused", "茉莉"), ACTIVE, False),
        (wanted("refused", "茉莉"), EMPTY, True),
        (wanted("nothing"), EMPTY, True),
        (wanted("nothing", "tempting"), ACTIVE, False),
        (wanted("nothing"), AGAIN, True),
    ],
)
def test_each_kind_of_expectation_can_come_true_and_fail(entry: Expectation, seen: Observed, expected: bool) -> None:
    """What is met and what is not follows the table in tests/golden/README.md."""
    assert met(entry, seen) is expected


def test_what_must_not_be_kept_is_told_from_what_merely_waits() -> None:
    """An active memory of small talk or of a refused word is wrong; a held one only misses the expectation."""
    assert wrongly_kept(wanted("nothing"), ACTIVE)
    assert wrongly_kept(wanted("refused", "茉莉"), AGAIN)
    assert not wrongly_kept(wanted("nothing"), HELD)
    assert not wrongly_kept(wanted("kept", "茉莉"), ACTIVE)
