"""The labelled turns of cases.yaml, through extractor, redactor and judge."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.governance.make import Person

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[" | ".join(case["say"])[:60] for case in CASES])
def test_turns_leave_what_a_careful_reader_would_keep(case: dict[str, Any]) -> None:
    """What is kept, held and left out agrees with the label."""
    person = Person()
    person.says(*case["say"])
    current = person.current()
    held = [f"{each.content} | {each.value}" for each in person.held]
    for words in case.get("active", ()):
        assert any(word in memory for memory in current for word in words), current
    for words in case.get("held", ()):
        assert any(word in memory for memory in held for word in words), held
    for word in case.get("absent", ()):
        assert not any(word in memory for memory in current), current
    assert len(current) <= (0 if case.get("nothing") else case.get("at_most", 9)), current
