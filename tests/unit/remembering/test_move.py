"""What a move changes, by the fold alone, and what may not be moved."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from events.errors import BadInputError
from events.model import PRIVATE, Accepted, Audience, Kind, MemoryBody, MemoryId, ProjectId, Reinforced, Superseded
from projections.changes import Fact, State, fold, within
from services.remembering.move import require_movable
from services.remembering.settle import Opened
from tests.unit.events.samples import CANDIDATE, CONTENT, MEMORY, TURN
from tests.unit.forgetting.make import NOW, SCOPE, stored

ATLAS = Audience(project=ProjectId(UUID(int=7)))
BODY = CONTENT.model_copy(update={"said_by": None, "sensitivity": None})
OTHER = MemoryId(UUID(int=9))


def accepted(version: int, audience: Audience, *, moved: bool = False) -> Accepted:
    """Make a version of the one memory."""
    return Accepted(
        candidate_id=CANDIDATE,
        memory_id=MEMORY,
        version=version,
        turn_id=TURN,
        kind=Kind.PREFERENCE,
        confidence=900,
        importance=500,
        cites=(),
        audience=audience,
        moved=moved,
    )


def moved_once() -> State:
    """Fold a memory that was said twice, and then moved to a project a day later."""
    again = Reinforced(candidate_id=OTHER, memory_id=MEMORY, version=1, turn_id=TURN, explicit=True)
    day = NOW + timedelta(days=1)
    return fold(
        {},
        [
            stored(accepted(1, PRIVATE)),
            stored(again),
            stored(Superseded(memory_id=MEMORY, version=1, by_version=2)),
            replace(stored(accepted(2, ATLAS, moved=True)), recorded_at=day),
        ],
    )


def test_a_moved_memory_is_as_old_and_as_used_as_before() -> None:
    """A move is no newer statement and no other memory: only its readers and its version are new."""
    before, after = moved_once()[MEMORY, 1], moved_once()[MEMORY, 2]
    kept = ("verified_at", "occurred_at", "reinforced", "asked", "confidence", "importance", "turn_id", "cites")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert (after.status, after.audience, after.reinforced, after.asked) == ("current", ATLAS, 1, True)


def test_what_it_was_before_is_the_persons_alone() -> None:
    """Neither its old readers nor its new ones find the version before; the person does."""
    state = moved_once()
    seen = [set(within(state, SCOPE.within(each))) for each in (PRIVATE, ATLAS)]
    assert seen == [{(MEMORY, 2)}, {(MEMORY, 2)}]
    assert set(within(state, SCOPE)) == {(MEMORY, 1), (MEMORY, 2)}


def the_fact(**changed: Any) -> Fact:  # noqa: ANN401 - fields of a fact
    """Take the current version with something about it changed."""
    return replace(moved_once()[MEMORY, 2], **changed)


@pytest.mark.parametrize(
    ("fact", "body", "reason"),
    [
        (the_fact(status="held"), BODY, "inbox"),
        (the_fact(status="in_conflict"), BODY, "inbox"),
        (the_fact(suspended=True), BODY, "resume"),
        (the_fact(), BODY.model_copy(update={"said_by": "crm"}), "system"),
        (the_fact(), BODY.model_copy(update={"sensitivity": "health"}), "sensitive"),
    ],
    ids=["held", "in conflict", "suspended", "of a system", "sensitive"],
)
def test_what_may_not_be_moved_says_what_to_do(fact: Fact, body: MemoryBody, reason: str) -> None:
    """The message names the memory and the way out, and nothing that it says."""
    with pytest.raises(BadInputError, match=reason) as refused:
        require_movable(fact, body, [], ATLAS)
    assert str(MEMORY) in str(refused.value)
    assert body.value not in str(refused.value)


@pytest.mark.parametrize(("audience", "refused"), [(ATLAS, True), (PRIVATE, False)], ids=["there", "elsewhere"])
def test_nothing_is_moved_to_where_it_is_said_already(audience: Audience, *, refused: bool) -> None:
    """The same memory for the same readers stands in the way, one for others does not."""
    other = Opened(the_fact(memory_id=OTHER, project=audience.project), BODY)
    if not refused:
        require_movable(the_fact(project=None), BODY, [other], ATLAS)
        return
    with pytest.raises(BadInputError, match=str(OTHER)):
        require_movable(the_fact(project=None), BODY, [other], ATLAS)
