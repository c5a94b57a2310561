from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from events.bodies import Lost, Shredded, Tampered
from events.envelope import StoredEvent
from events.errors import UnknownEventError
from events.model import (
    Accepted,
    Assertion,
    CommandId,
    Event,
    EventId,
    KeyId,
    Kind,
    MemoryBody,
    MemoryId,
    Position,
    Superseded,
    Tombstoned,
    TurnId,
)
from services.replay.state import Barred, Moment, Opened, Remembered, known, remembered
from tests.unit.events.samples import SCOPE, fixed

DAY = datetime(2026, 8, 1, tzinfo=UTC)
CITY, CAT = MemoryId(fixed(4)), MemoryId(fixed(5))
NOTHING = Barred((), (), ())


def day(number: int) -> datetime:
    return DAY + timedelta(days=number)


def written(events: Iterable[tuple[int, Event]]) -> list[StoredEvent]:
    """Write events down, each said on a day and recorded the day after; position and version count."""
    return [
        StoredEvent(
            position=Position(at),
            scope=SCOPE,
            stream="memory/x",
            version=at + 1,
            event_id=EventId(UUID(int=at + 1)),
            command_id=CommandId(uuid4()),
            type=event.type,
            schema_version=event.schema_version,
            occurred_at=day(said),
            recorded_at=day(said + 1),
            actor="worker:remember",
            parts=(),
            document=event.model_dump(mode="json", exclude_none=True),
        )
        for at, (said, event) in enumerate(events)
    ]


def accepted(memory: MemoryId, version: int) -> Accepted:
    turn = TurnId(fixed(3))
    return Accepted(
        candidate_id=memory,
        memory_id=memory,
        version=version,
        turn_id=turn,
        kind=Kind.FACT,
        confidence=900,
        importance=500,
        cites=(),
    )


def body(value: str, begins: int | None = None, ends: int | None = None, sensitivity: str | None = None) -> MemoryBody:
    return MemoryBody(
        kind=Kind.FACT,
        key="home.city",
        value=value,
        content=value,
        evidence=(),
        assertion=Assertion.STATED,
        valid_from=None if begins is None else day(begins),
        valid_until=None if ends is None else day(ends),
        sensitivity=sensitivity,
    )


# 0: Utrecht, said on day 10 · 1, 2: Rotterdam instead, said on day 20 · 3: a cat, said on day 30
LIFE = written(
    [
        (10, accepted(CITY, 1)),
        (20, Superseded(memory_id=CITY, version=1, by_version=2)),
        (20, accepted(CITY, 2)),
        (30, accepted(CAT, 1)),
    ]
)
BODIES: dict[EventId, Opened] = {
    LIFE[0].event_id: body("乌得勒支 Utrecht"),
    LIFE[2].event_id: body("鹿特丹 Rotterdam"),
    LIFE[3].event_id: body("猫 cat"),
}


def values(found: Iterable[Remembered]) -> list[str]:
    return [each.today if each.body is None else each.body.value.split()[1] for each in found]


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (Moment(time=day(10)), []),
        (Moment(time=day(11)), ["Utrecht"]),
        (Moment(time=day(20)), ["Utrecht"]),
        (Moment(time=day(21)), ["Rotterdam"]),
        (Moment(position=Position(0)), ["Utrecht"]),
        (Moment(position=Position(2)), ["Rotterdam"]),
        (Moment(), ["Rotterdam", "cat"]),
    ],
)
def test_recorded_time_is_what_the_log_knew(moment: Moment, expected: list[str]) -> None:
    """A thing is known from when it was recorded, not from when it was said; up to and with the time or position."""
    assert values(remembered(known(LIFE, moment), BODIES, NOTHING, None)) == expected


@pytest.mark.parametrize(
    ("at", "expected"), [(9, []), (10, ["Utrecht"]), (19, ["Utrecht"]), (20, ["Rotterdam"]), (30, ["Rotterdam", "cat"])]
)
def test_valid_time_is_when_it_was_so(at: int, expected: list[str]) -> None:
    """A version is true from when it was said until its successor begins, whatever is current now."""
    assert values(remembered(known(LIFE, Moment()), BODIES, NOTHING, day(at))) == expected


def test_the_two_times_are_independent() -> None:
    """What was known on day 11 about day 25 is Utrecht; what is known now about day 25 is Rotterdam."""
    assert values(remembered(known(LIFE, Moment(time=day(11))), BODIES, NOTHING, day(25))) == ["Utrecht"]
    assert values(remembered(known(LIFE, Moment()), BODIES, NOTHING, day(25))) == ["Rotterdam"]


def test_stated_validity_goes_before_the_time_of_saying() -> None:
    """`valid_from` may lie before or behind the saying, `valid_until` ends it, a successor that reaches back wins."""
    dated = BODIES | {LIFE[0].event_id: body("乌得勒支 Utrecht", 1, 15), LIFE[2].event_id: body("鹿特丹 Rotterdam", 18)}
    state = known(LIFE, Moment())
    asked = {at: values(remembered(state, dated, NOTHING, day(at))) for at in (0, 1, 14, 15, 17, 18)}
    assert asked == {0: [], 1: ["Utrecht"], 14: ["Utrecht"], 15: [], 17: [], 18: ["Rotterdam"]}
    back = BODIES | {LIFE[2].event_id: body("鹿特丹 Rotterdam", 5)}
    assert values(remembered(state, back, NOTHING, day(12))) == ["Rotterdam"]


@pytest.mark.parametrize(
    ("opened", "barred", "today"),
    [
        (Shredded(KeyId(fixed(9))), NOTHING, "forgotten"),
        (body("x Utrecht"), Barred({CITY}, (), ()), "forgotten"),
        (Shredded(KeyId(fixed(9))), Barred((), {CITY}, ()), "expired"),
        (body("x Utrecht", sensitivity="health"), Barred((), (), {"health"}), "consent_withdrawn"),
        (body("x Utrecht", sensitivity="health"), Barred((), (), {"finance"}), "readable"),
        (Lost(KeyId(fixed(9))), NOTHING, "lost"),
        (Tampered(KeyId(fixed(9))), NOTHING, "tampered"),
        (None, NOTHING, "tampered"),
    ],
)
def test_what_may_not_be_read_today_is_a_stone(opened: Opened | None, barred: Barred, today: str) -> None:
    """It was current then and says so, but shows nothing of what it held."""
    bodies = {} if opened is None else {LIFE[0].event_id: opened}
    (found,) = remembered(known(LIFE, Moment(time=day(11))), bodies, barred, None)
    assert (found.fact.status, found.today, found.body is None) == ("current", today, today != "readable")


def test_what_was_forgotten_by_then_is_no_part_of_the_state() -> None:
    """A stone of that time is not what was known then."""
    gone = [*LIFE, *written([(40, Tombstoned(memories=(CITY,), messages=(), keys=()))])]
    assert values(remembered(known(gone, Moment()), BODIES, NOTHING, None)) == ["cat"]


def test_an_event_of_a_newer_build_is_an_error() -> None:
    """A state that leaves something out would be none."""

    class Dreamt(Event):
        type = "dreamt"

    with pytest.raises(UnknownEventError, match="dreamt v1"):
        known([*LIFE, *written([(50, Dreamt())])], Moment())
