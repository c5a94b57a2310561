from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.extraction.dates import resolve
from tests.unit.extraction.make import FRIDAY


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("明天去", "2026-07-11"),
        ("tomorrow", "2026-07-11"),
        ("后天", "2026-07-12"),
        ("大后天", "2026-07-13"),
        ("下周三", "2026-07-15"),
        ("next wednesday", "2026-07-15"),
        ("on sunday", "2026-07-12"),
        ("这周末", "2026-07-11/2026-07-12"),
        ("下个月", "2026-08"),
        ("next month", "2026-08"),
        ("10 月份", "2026-10"),
        ("in november", "2026-11"),
        ("in march", "2027-03"),
        ("明年3月", "2027-03"),
        ("next quarter", "2026-Q4"),
        ("9月12日", "2026-09-12"),
        ("3 october", "2026-10-03"),
        ("may 3rd", "2027-05-03"),
        ("两个月后", "2026-09"),
        ("in two weeks", "2026-07-20/2026-07-26"),
        ("年底", "2026-12"),
        ("by the end of the year", "2026-12"),
        ("2027-02-28", "2027-02-28"),
        ("国庆", "2026-10-01/2026-10-07"),
    ],
)
def test_relative_dates_are_seen_from_the_turn(text: str, label: str) -> None:
    """Both languages resolve to the same calendar."""
    period = resolve(text, FRIDAY)
    assert period
    assert period.label == label


def test_the_zone_of_the_turn_decides_what_today_is() -> None:
    """Half past eleven at night in Shanghai is still Friday there."""
    period = resolve("今天", FRIDAY)
    assert period
    assert period.start.isoformat() == "2026-07-10T00:00:00+08:00"


@pytest.mark.parametrize("text", ["", "2月31日", "no date here", "13月", "一百", "2026年99月"])
def test_what_is_no_date_is_none(text: str) -> None:
    """An impossible date is not one."""
    assert resolve(text, FRIDAY) is None


@given(st.text("0123456789年月日号下个周一二三天后next inmoyd ", max_size=30), st.datetimes(timezones=st.just(UTC)))
def test_no_text_and_no_year_makes_it_fail(text: str, now: datetime) -> None:
    """Dates at the edge of the calendar are simply not resolved, and a period never ends before it begins."""
    period = resolve(text, now)
    assert period is None or period.start <= period.end


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("on friday i climbed a hill", "2026-07-03"),
        ("on sunday we rowed across the bay", "2026-07-05"),
        ("周六我去爬了山", "2026-07-04"),
        ("in march i sold the van", "2026-03"),
        ("on friday i'm going to climb a hill", "2026-07-17"),
        ("周日我要去划船", "2026-07-12"),
        ("周日我订了票去划船", "2026-07-12"),
    ],
)
def test_a_day_without_direction_lies_behind_where_the_sentence_tells_of_the_past(text: str, label: str) -> None:
    """The tense of the sentence says whether the named day is over; a booking is of what is to come."""
    found = resolve(text, FRIDAY)
    assert found is not None
    assert found.label == label
