"""The labelled turns of tests/golden/extraction, through redactor, extractor and judge."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from services.governance.folding import plain
from tests.unit.governance.make import Person

GOLDEN = Path(__file__).parents[2] / "golden" / "extraction"
MONDAY = datetime(2026, 7, 13, 9, tzinfo=UTC)
_EXPECTATION = re.compile(r"(?:^|\s)([+\-~^].*?)(?=\s[+\-~^]|\s\d$|$)|(?:^|\s)(\d)$")


class Case(NamedTuple):
    """A labelled line."""

    area: str
    turns: list[str]
    expected: str


def cases(name: str) -> list[Case]:
    lines = (GOLDEN / name).read_text("utf-8").splitlines()
    split = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return [Case(area, turns.replace("\\n", "\n").split(" >> "), expected) for area, turns, expected in split]


def failures(case: Case) -> list[str]:
    """Return the expectations of a case that are not met."""
    person = Person()
    for day, said in enumerate(case.turns):
        person.says(said, at=MONDAY + timedelta(days=3 * day))
    groups = {
        "+": [(each.claim.kind, each.claim.content, each.claim.value) for each in person.living],
        "~": [(each.kind, each.content, each.value) for each in person.held],
        "^": [(each.claim.kind, each.claim.content, each.claim.value) for each in person.replaced],
    }
    missed = []
    for spec, most in _EXPECTATION.findall(case.expected):
        if most:
            met = len(groups["+"]) <= int(most)
        else:
            words, _, kinds = spec[1:].partition("@")
            met = (spec[0] != "-") == any(
                (not kinds or kind.value in kinds.split("/"))
                and any(plain(word) in plain(f"{content} | {value}") for word in words.split("/"))
                for kind, content, value in groups["+" if spec[0] == "-" else spec[0]]
            )
        missed += [] if met else [spec or most]
    return missed


@pytest.mark.parametrize(("name", "share"), [("cases.txt", 0.97), ("heldout.txt", 0.85)])
def test_labelled_turns_are_read_as_a_careful_reader_would(name: str, share: float) -> None:
    """So large a share of the cases meets every expectation of its label."""
    known = cases(name)
    missed = {" >> ".join(case.turns): found for case in known if (found := failures(case))}
    assert 1 - len(missed) / len(known) >= share, missed
