"""Resolve relative dates against the moment of the turn, in its own zone."""

import calendar
import re
from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import NamedTuple

_CJK_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九十")} | {"两": 2, "几": 3, "半": 1}
_ENGLISH = {
    word: value
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
} | {
    "a": 1,
    "an": 1,
}
_MONTHS = {name.lower(): index for index, name in enumerate(calendar.month_name) if name}
_WEEKDAYS = {name.lower(): index for index, name in enumerate(calendar.day_name)}
_MONTH = "(" + "|".join(_MONTHS) + ")"
_WEEKDAY = "(" + "|".join(_WEEKDAYS) + ")"
_N = r"(\d{1,3}|[一二两三四五六七八九十半])"
_E = r"(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten)"
_DECEMBER = 12


class Period(NamedTuple):
    """From the first moment to the last; `label` is what a memory writes."""

    start: datetime
    end: datetime
    label: str


def resolve(folded: str, now: datetime) -> Period | None:
    """Return the first period that a folded text names, seen from `now`."""
    for pattern, make in _RULES:
        match = pattern.search(folded)
        if match:
            try:
                return make(match, now)
            except (ValueError, OverflowError):
                continue  # 31 June, or a year out of range: not a date
    return None


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _CJK_DIGITS.get(text) or _ENGLISH.get(text, 1)


def _days(start: datetime, count: int = 1) -> Period:
    first = datetime.combine(start.date(), time.min, start.tzinfo)
    last = first + timedelta(days=count) - timedelta(seconds=1)
    label = first.date().isoformat() if count == 1 else f"{first.date().isoformat()}/{last.date().isoformat()}"
    return Period(first, last, label)


def _month(now: datetime, year: int, month: int) -> Period:
    year, month = year + (month - 1) // _DECEMBER, (month - 1) % _DECEMBER + 1
    first = now.replace(year=year, month=month, day=1)
    return _days(first, calendar.monthrange(year, month)[1])._replace(label=f"{year:04d}-{month:02d}")


def _named_month(now: datetime, month: int) -> Period:
    return _month(now, now.year + (month < now.month), month)


def _date(now: datetime, month: int, day: int) -> Period:
    this_year = now.replace(month=month, day=day)
    return _days(this_year if this_year.date() >= now.date() else this_year.replace(year=now.year + 1))


def _year(now: datetime, year: int) -> Period:
    first = now.replace(year=year, month=1, day=1)
    return _days(first, 366 if calendar.isleap(year) else 365)._replace(label=f"{year:04d}")


def _week(now: datetime, weeks: int, weekday: int | None = None) -> Period:
    monday = now - timedelta(days=now.weekday()) + timedelta(weeks=weeks)
    return _days(monday, 7) if weekday is None else _days(monday + timedelta(days=weekday))


def _weekend(now: datetime, weeks: int) -> Period:
    return _days(now - timedelta(days=now.weekday()) + timedelta(weeks=weeks, days=5), 2)


def _quarter(now: datetime, ahead: int) -> Period:
    index = (now.month - 1) // 3 + ahead
    first = _month(now, now.year, index * 3 + 1)
    last = _month(now, now.year, index * 3 + 3)
    return Period(first.start, last.end, f"{first.start.year}-Q{(first.start.month - 1) // 3 + 1}")


def _next_weekday(now: datetime, weekday: int) -> Period:
    return _days(now + timedelta(days=(weekday - now.weekday() - 1) % 7 + 1))


def _cjk_weekday(char: str) -> int:
    return "一二三四五六日".index(char.replace("天", "日"))


_Make = Callable[[re.Match[str], datetime], Period]
_SOURCES: tuple[tuple[str, _Make], ...] = (
    (
        r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})",
        lambda m, n: _days(n.replace(year=int(m[1]), month=int(m[2]), day=int(m[3]))),
    ),
    (r"(\d{4})年(1[0-2]|0?[1-9])月(?! ?\d)", lambda m, n: _month(n, int(m[1]), int(m[2]))),
    (r"明年(1[0-2]|0?[1-9])月", lambda m, n: _month(n, n.year + 1, int(m[1]))),
    (r"(?<!\d)(\d{1,2})月(\d{1,2})[日号]?", lambda m, n: _date(n, int(m[1]), int(m[2]))),
    (r"下个?月(\d{1,2})[日号]", lambda m, n: _days(_month(n, n.year, n.month + 1).start.replace(day=int(m[1])))),
    (r"(?<!\d)(1[0-2]|0?[1-9]) ?月(?! ?\d)", lambda m, n: _named_month(n, int(m[1]))),
    (r"今天|今晚|今日|today|tonight", lambda _, n: _days(n)),
    (r"大后天", lambda _, n: _days(n + timedelta(days=3))),
    (r"后天|the day after tomorrow", lambda _, n: _days(n + timedelta(days=2))),
    (r"明天|明早|明晚|tomorrow", lambda _, n: _days(n + timedelta(days=1))),
    (r"下(?:个)?(?:周|星期|礼拜)([一二三四五六日天])", lambda m, n: _week(n, 1, _cjk_weekday(m[1]))),
    (r"(?:这|本)?(?:个)?(?:周|星期|礼拜)([一二三四五六日天])", lambda m, n: _week(n, 0, _cjk_weekday(m[1]))),
    (r"下(?:个)?周末|next weekend", lambda _, n: _weekend(n, 1)),
    (r"(?:这|本)?(?:个)?周末|this weekend", lambda _, n: _weekend(n, 0)),
    (r"下(?:个)?(?:周|星期|礼拜)|next week", lambda _, n: _week(n, 1)),
    (r"下个?月|next month", lambda _, n: _month(n, n.year, n.month + 1)),
    (r"下个?季度|next quarter", lambda _, n: _quarter(n, 1)),
    (r"后年", lambda _, n: _year(n, n.year + 2)),
    (r"明年|next year", lambda _, n: _year(n, n.year + 1)),
    (r"年底|(?:the )?end of (?:the|this) year|by christmas|圣诞", lambda _, n: _month(n, n.year, _DECEMBER)),
    (r"月底|(?:the )?end of (?:the|this) month|这个月|本月|this month", lambda _, n: _month(n, n.year, n.month)),
    (r"今年|this year", lambda _, n: _year(n, n.year)),
    (r"国庆", lambda _, n: _days(_date(n, 10, 1).start, 7)),
    (r"元旦", lambda _, n: _date(n, 1, 1)),
    (_N + r" ?天(?:之)?后", lambda m, n: _days(n + timedelta(days=_number(m[1])))),
    (_N + r" ?(?:个)?(?:周|星期|礼拜)(?:之)?后", lambda m, n: _week(n, _number(m[1]))),
    (_N + r" ?个月(?:之)?后", lambda m, n: _month(n, n.year, n.month + _number(m[1]))),
    (_N + r" ?年(?:之)?后", lambda m, n: _year(n, n.year + _number(m[1]))),
    (r"in " + _E + r" days?", lambda m, n: _days(n + timedelta(days=_number(m[1])))),
    (r"in " + _E + r" weeks?", lambda m, n: _week(n, _number(m[1]))),
    (r"in " + _E + r" months?", lambda m, n: _month(n, n.year, n.month + _number(m[1]))),
    (r"in " + _E + r" years?", lambda m, n: _year(n, n.year + _number(m[1]))),
    (r"next " + _WEEKDAY, lambda m, n: _week(n, 1, _WEEKDAYS[m[1]])),
    (r"(?:on|this) " + _WEEKDAY, lambda m, n: _next_weekday(n, _WEEKDAYS[m[1]])),
    (r"(\d{1,2})(?:st|nd|rd|th)? (?:of )?" + _MONTH, lambda m, n: _date(n, _MONTHS[m[2]], int(m[1]))),
    (_MONTH + r" (\d{1,2})(?:st|nd|rd|th)?(?!\d)", lambda m, n: _date(n, _MONTHS[m[1]], int(m[2]))),
    (r"(?:in|by|until|this|next|early|late|mid-?) ?" + _MONTH, lambda m, n: _named_month(n, _MONTHS[m[1]])),
)
_RULES = tuple((re.compile(source), make) for source, make in _SOURCES)
