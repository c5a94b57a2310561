from datetime import UTC, datetime, time, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from events.schedule import ALLOWANCE, SETTLE, Schedule

MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds it
SCHEDULES = st.builds(
    Schedule,
    st.times().map(lambda at: at.replace(second=0, microsecond=0)),
    st.integers(1, 744).map(lambda hours: timedelta(hours=hours)),
    st.integers(0, 60).map(lambda days: timedelta(days=days)),
)


@given(SCHEDULES, MOMENTS)
def test_rolls_follow_each_other_at_their_distance(schedule: Schedule, moment: datetime) -> None:
    """A moment lies between the roll before it and the next, which are one distance apart."""
    assert schedule.latest(moment) <= moment < schedule.after(moment)
    assert schedule.after(moment) - schedule.latest(moment) == schedule.every
    assert schedule.latest(schedule.latest(moment)) == schedule.latest(moment)


@given(SCHEDULES, MOMENTS)
def test_keys_die_after_a_roll_that_began_later(schedule: Schedule, moment: datetime) -> None:
    """Between the moment and the promise lies a whole roll with its allowance, and the life of the copies."""
    promised = schedule.keys_die_by(moment)
    begun = schedule.latest(promised - ALLOWANCE - schedule.copies)
    assert begun == promised - ALLOWANCE - schedule.copies
    assert begun > moment + SETTLE
    assert promised <= moment + SETTLE + schedule.every + ALLOWANCE + schedule.copies


@given(SCHEDULES, MOMENTS, st.timedeltas(timedelta(), timedelta(days=40)))
def test_who_forgets_later_is_not_promised_sooner(schedule: Schedule, moment: datetime, later: timedelta) -> None:
    """The promise never goes back."""
    assert schedule.keys_die_by(moment) <= schedule.keys_die_by(moment + later)


def test_a_night() -> None:
    """Who forgets in the afternoon is safe at four, who forgets five minutes before the roll a night later."""
    nightly = Schedule(time(3), timedelta(days=1))
    assert nightly.keys_die_by(datetime(2026, 8, 1, 16, tzinfo=UTC)) == datetime(2026, 8, 2, 4, tzinfo=UTC)
    assert nightly.keys_die_by(datetime(2026, 8, 1, 2, 55, tzinfo=UTC)) == datetime(2026, 8, 2, 4, tzinfo=UTC)
    shanghai = datetime(2026, 8, 1, 10, 59, tzinfo=timezone(timedelta(hours=8)))
    assert nightly.latest(shanghai) == datetime(2026, 7, 31, 3, tzinfo=UTC)
    assert Schedule(time(3), timedelta(hours=6)).after(datetime(2026, 8, 1, 16, tzinfo=UTC)).hour == 21
