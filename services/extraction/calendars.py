"""Calendar arithmetic for relative dates: days, weeks, months, seasons and quarters, in the zone of the turn."""

import calendar
from datetime import datetime, time, timedelta
from typing import NamedTuple

_DECEMBER = 12
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}  # months in which they begin in the northern half


class Period(NamedTuple):
    """From the first moment to the last; `label` is what a memory writes."""

    start: datetime
    end: datetime
    label: str


def days(start: datetime, count: int = 1) -> Period:
    """Return whole days from the one that holds `start`."""
    first = datetime.combine(start.date(), time.min, start.tzinfo)
    last = first + timedelta(days=count) - timedelta(seconds=1)
    label = first.date().isoformat() if count == 1 else f"{first.date().isoformat()}/{last.date().isoformat()}"
    return Period(first, last, label)


def month(now: datetime, year: int, number: int) -> Period:
    """Return a month; numbers outside 1 to 12 run into the years around."""
    year, number = year + (number - 1) // _DECEMBER, (number - 1) % _DECEMBER + 1
    first = now.replace(year=year, month=number, day=1)
    return days(first, calendar.monthrange(year, number)[1])._replace(label=f"{year:04d}-{number:02d}")


def coming_month(now: datetime, number: int) -> Period:
    """Return this or the next month of that number."""
    return month(now, now.year + (number < now.month), number)


def past_month(now: datetime, number: int) -> Period:
    """Return the latest month of that number that has begun."""
    return month(now, now.year - (number > now.month), number)


def coming_date(now: datetime, number: int, day: int) -> Period:
    """Return the next day of that month and number, today included."""
    this_year = now.replace(month=number, day=day)
    return days(this_year if this_year.date() >= now.date() else this_year.replace(year=now.year + 1))


def whole_year(now: datetime, year: int) -> Period:
    """Return a year."""
    first = now.replace(year=year, month=1, day=1)
    return days(first, 366 if calendar.isleap(year) else 365)._replace(label=f"{year:04d}")


def week(now: datetime, ahead: int, weekday: int | None = None) -> Period:
    """Return the week so many weeks ahead, Monday to Sunday, or one day of it (Monday is 0)."""
    monday = now - timedelta(days=now.weekday()) + timedelta(weeks=ahead)
    return days(monday, 7) if weekday is None else days(monday + timedelta(days=weekday))


def weekend(now: datetime, ahead: int) -> Period:
    """Return the Saturday and Sunday of the week so many weeks ahead."""
    return days(now - timedelta(days=now.weekday()) + timedelta(weeks=ahead, days=5), 2)


def quarter(now: datetime, ahead: int) -> Period:
    """Return the quarter so many quarters ahead."""
    index = (now.month - 1) // 3 + ahead
    first = month(now, now.year, index * 3 + 1)
    last = month(now, now.year, index * 3 + 3)
    return Period(first.start, last.end, f"{first.start.year}-Q{(first.start.month - 1) // 3 + 1}")


def coming_weekday(now: datetime, weekday: int) -> Period:
    """Return the next day of that name after today (Monday is 0)."""
    return days(now + timedelta(days=(weekday - now.weekday() - 1) % 7 + 1))


def past_weekday(now: datetime, weekday: int) -> Period:
    """Return the latest day of that name before today (Monday is 0)."""
    return days(now - timedelta(days=(now.weekday() - weekday - 1) % 7 + 1))


def season(now: datetime, name: str, year: int) -> Period:
    """Return the three months of a season that begins in a year."""
    first = month(now, year, _SEASONS[name])
    last = month(now, year, _SEASONS[name] + 2)
    return Period(first.start, last.end, f"{first.label}/{last.label}")


def past_season(now: datetime, name: str) -> Period:
    """Return the latest season of that name that is over."""
    found = season(now, name, now.year)
    return found if found.end < now else season(now, name, now.year - 1)


def coming_season(now: datetime, name: str) -> Period:
    """Return the season of that name that runs or comes next."""
    found = season(now, name, now.year)
    return found if found.end >= now else season(now, name, now.year + 1)
