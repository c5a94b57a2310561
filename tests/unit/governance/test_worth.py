from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import Assertion, Kind, Outcome
from services.governance.gates.capacity import capacity
from services.governance.gates.worth import worth, worth_of
from services.governance.view import View
from tests.unit.governance.make import NOON, POLICY, a_candidate, a_memory, a_message, a_turn, a_view

LATER = NOON + timedelta(days=1)
SAID = a_message("以后回答简短一点 please")


def view(**changes: object) -> View:
    return a_view(a_turn(SAID)).model_copy(update=changes)


@pytest.mark.parametrize(
    ("changes", "outcome", "reason"),
    [
        ({}, None, None),
        ({"importance": 0.0, "confidence": 0.3, "key": None}, Outcome.WORKING_ONLY, "not_worth_it"),
        ({"assertion": Assertion.INFERRED}, Outcome.WORKING_ONLY, "not_stated"),
        ({"assertion": Assertion.INFERRED, "explicit": True}, None, None),
        ({"kind": Kind.PLAN, "valid_until": NOON - timedelta(days=2)}, Outcome.WORKING_ONLY, "over"),
        ({"importance": 0.0, "confidence": 0.3, "key": None, "explicit": True}, None, None),
    ],
)
def test_what_is_worth_keeping(changes: dict[str, Any], outcome: Outcome | None, reason: str | None) -> None:
    """Stated, of use later, and worth 0.65; what was asked for passes whatever it is worth."""
    ruling = worth(a_candidate(SAID, **changes), view())
    assert (ruling and ruling.outcome, ruling and ruling.reason) == (outcome, reason)


@pytest.mark.parametrize(("sure", "outcome"), [(0.9, None), (0.3, Outcome.HELD)])
def test_a_contradiction_needs_more(sure: float, outcome: Outcome | None) -> None:
    """What contradicts a memory and is worth less than 0.8 waits for the person."""
    old = a_memory(a_candidate(SAID))
    candidate = a_candidate(SAID, value="detailed", confidence=sure, importance=0.5)
    ruling = worth(candidate, a_view(a_turn(SAID, at=LATER), old))
    assert (ruling and ruling.outcome) == outcome


UNIT = st.floats(0, 1)


@given(importance=UNIT, confidence=UNIT, kind=st.sampled_from(Kind), keyed=st.booleans())
def test_worth_is_a_share_of_one_and_grows_with_each_feature(
    *, importance: float, confidence: float, kind: Kind, keyed: bool
) -> None:
    """R13.9: 0.35, 0.25, 0.20 and 0.20; more of anything is never worth less."""
    key = "reply.length" if keyed else None
    found = worth_of(a_candidate(SAID, importance=importance, confidence=confidence, kind=kind, key=key), POLICY)
    assert 0 <= found.worth <= 1.000001
    expected = 0.35 * found.relevance + 0.25 * importance + 0.20 * confidence + 0.20 * found.future_value
    assert found.worth == pytest.approx(expected)
    surer = worth_of(a_candidate(SAID, importance=importance, confidence=1, kind=kind, key=key), POLICY)
    assert surer.worth >= found.worth


@pytest.mark.parametrize(
    ("count", "explicit", "outcome"),
    [(0, False, None), (999, False, None), (1000, False, Outcome.HELD), (1000, True, None)],
)
def test_one_memory_too_many_waits(*, count: int, explicit: bool, outcome: Outcome | None) -> None:
    """A full kind drops nothing unseen: what comes beyond is held, unless it was asked for."""
    ruling = capacity(a_candidate(SAID, explicit=explicit), view(counts={Kind.PREFERENCE: count}))
    assert (ruling and ruling.outcome) == outcome
