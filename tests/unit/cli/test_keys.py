from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

import pytest

from events.roll import KeyState
from events.schedule import Schedule
from ops.cli.keys import judged

NIGHTLY = Schedule(time(3), timedelta(days=1))
NOW = datetime(2026, 8, 1, 16, tzinfo=UTC)
GOOD = KeyState(datetime(2026, 8, 1, 3, tzinfo=UTC), interrupted=False, due=2, missing=frozenset(), unknown=frozenset())
EPOCH = frozenset({UUID(int=7)})


def test_good_keys_have_no_trouble() -> None:
    """Keys that rolled last night are well, and it is said when they roll next; so is a vault without any."""
    found = judged(GOOD, NIGHTLY, NOW)
    assert (found.people_due, found.next_roll, found.trouble) == (2, datetime(2026, 8, 2, 3, tzinfo=UTC), ())
    assert judged(replace(GOOD, oldest=None), NIGHTLY, NOW).trouble == ()


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (replace(GOOD, missing=EPOCH), "restore the key folder"),
        (replace(GOOD, unknown=EPOCH), "left alone"),
        (replace(GOOD, interrupted=True), "interrupted"),
        (replace(GOOD, oldest=datetime(2026, 7, 31, 3, tzinfo=UTC)), "overdue"),
    ],
)
def test_each_trouble_has_its_words(state: KeyState, said: str) -> None:
    """Each thing that can be wrong is said, with what to do."""
    (words,) = judged(state, NIGHTLY, NOW).trouble
    assert said in words


def test_a_roll_has_its_allowance() -> None:
    """While a roll may still be running it is not overdue."""
    yesterday = replace(GOOD, oldest=datetime(2026, 7, 31, 3, tzinfo=UTC))
    assert judged(yesterday, NIGHTLY, datetime(2026, 8, 1, 3, 59, tzinfo=UTC)).trouble == ()
