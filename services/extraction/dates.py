"""Resolve relative dates, ahead and back, against the moment of the turn, in its own zone.

No maintained library reads both languages inside a sentence: over thirty phrases dateparser got half (and took "may"
and "second" for dates), parsedatetime and recurrent a third. So the phrases are a table here and the arithmetic is in
`calendars`.
"""

import calendar as names
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from services.extraction import calendars as c
from services.extraction.calendars import Period
from services.extraction.tense import tells_of_past

__all__ = ["Dated", "Period", "dated", "resolve"]

_CJK_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九十")} | {
    "十一": 11,
    "十二": 12,
    "两": 2,
    "几": 3,
}
_ENGLISH = {
    word: value
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
} | {"a": 1, "an": 1, "a couple of": 2, "a few": 3}
_MONTHS = {name.lower(): index for index, name in enumerate(names.month_name) if name}
_WEEKDAYS = {name.lower(): index for index, name in enumerate(names.day_name)}
_MONTH = "(" + "|".join(_MONTHS) + ")"
_WEEKDAY = "(" + "|".join(_WEEKDAYS) + ")"
_SEASON = "(spring|summer|autumn|fall|winter)"
_N = r"(\d{1,3}|[一二两三四五六七八九十几])"
_M = r"(1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
_E = r"(\d{1,3}|an?|a couple of|a few|one|two|three|four|five|six|seven|eight|nine|ten)"
_W = r"(?:周|星期|礼拜)([一二三四五六日天])"
_DIRECTED = re.compile(
    r"[下明后]|\d{4}|年底|月底|tomorrow|next|coming|this|end of|in (?:\d|an?|half|one|two|three|four|five)"
)
_BARE_WEEKDAY = re.compile(rf"{_WEEKDAY}|(?:周|星期|礼拜)[一二三四五六日天末]|weekend")
_ZH_SEASON = "([春夏秋冬])(?:天|季)"
_SEASON_OF = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter", "fall": "autumn"}


class Dated(NamedTuple):
    """A period and the stretch of the text that names it."""

    period: Period
    start: int
    end: int


def resolve(folded: str, now: datetime) -> Period | None:
    """Return the first period that a folded text names, seen from `now`."""
    found = dated(folded, now)
    return found.period if found else None


def dated(folded: str, now: datetime) -> Dated | None:
    """Return the first period that a folded text names, with its place; earlier rules are the more exact ones."""
    for pattern, make in _RULES:
        match = pattern.search(folded)
        if match:
            try:
                return Dated(_placed(make, match, now), *match.span())
            except (ValueError, OverflowError):
                continue  # 31 June, or a year out of range: not a date
    return None


def _placed(make: "_Make", match: re.Match[str], now: datetime) -> Period:
    """Return the period, behind where it has no direction of its own and the sentence tells of what is over."""
    period = make(match, now)
    if period.start <= now or _DIRECTED.search(match.group()) or not tells_of_past(match.string):
        return period
    if _BARE_WEEKDAY.search(match.group()) is None:
        return make(match, now.replace(year=now.year - 1))
    behind = make(match, now - timedelta(days=7))
    return behind if behind.start.date() < now.date() else make(match, now - timedelta(days=14))


def _n(text: str) -> int:
    return int(text) if text.isdigit() else _CJK_DIGITS.get(text) or _ENGLISH.get(text, 1)


def _weekday(char: str) -> int:
    return "一二三四五六日".index(char.replace("天", "日"))


def _season(name: str) -> str:
    return _SEASON_OF.get(name, name)


def _months_on(now: datetime, count: int) -> Period:
    return c.month(now, now.year, now.month + count)


_Make = Callable[[re.Match[str], datetime], Period]
_SOURCES: tuple[tuple[str, _Make], ...] = (
    (
        r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})",
        lambda m, n: c.days(n.replace(year=int(m[1]), month=int(m[2]), day=int(m[3]))),
    ),
    (r"(\d{4})年(1[0-2]|0?[1-9])月(?! ?\d)", lambda m, n: c.month(n, int(m[1]), int(m[2]))),
    (rf"明年{_M}月", lambda m, n: c.month(n, n.year + 1, _n(m[1]))),
    (rf"(?:去|上)年{_M}月", lambda m, n: c.month(n, n.year - 1, _n(m[1]))),
    (rf"去年{_ZH_SEASON}", lambda m, n: c.season(n, _season(m[1]), n.year - 1)),
    (rf"明年{_ZH_SEASON}", lambda m, n: c.season(n, _season(m[1]), n.year + 1)),
    (r"(?:last|past) " + _SEASON, lambda m, n: c.past_season(n, _season(m[1]))),
    (r"(?:in|by|until) (?:the )?" + _SEASON, lambda m, n: c.coming_season(n, _season(m[1]))),
    (r"next " + _SEASON, lambda m, n: c.season(n, _season(m[1]), n.year + 1)),
    (r"this (?:coming )?" + _SEASON, lambda m, n: c.coming_season(n, _season(m[1]))),
    (rf"今年{_ZH_SEASON}", lambda m, n: c.season(n, _season(m[1]), n.year)),
    (rf"上(?:个)?月{_N}[日号]", lambda m, n: c.days(_months_on(n, -1).start.replace(day=_n(m[1])))),
    (r"(?<!\d)(\d{1,2})月(\d{1,2})[日号]?", lambda m, n: c.coming_date(n, int(m[1]), int(m[2]))),
    (r"下个?月(\d{1,2})[日号]", lambda m, n: c.days(_months_on(n, 1).start.replace(day=int(m[1])))),
    (rf"(?<![\d一二三四五六七八九十几个上下]){_M} ?月(?:份)?(?! ?\d)", lambda m, n: c.coming_month(n, _n(m[1]))),
    (r"今天|今晚|今日|today|tonight", lambda _, n: c.days(n)),
    (r"大后天", lambda _, n: c.days(n + timedelta(days=3))),
    (r"后天|the day after tomorrow", lambda _, n: c.days(n + timedelta(days=2))),
    (r"大前天", lambda _, n: c.days(n - timedelta(days=3))),
    (r"前天|the day before yesterday", lambda _, n: c.days(n - timedelta(days=2))),
    (r"明天|明早|明晚|tomorrow", lambda _, n: c.days(n + timedelta(days=1))),
    (r"昨天|昨晚|昨日|yesterday|last night", lambda _, n: c.days(n - timedelta(days=1))),
    (rf"下下(?:个)?{_W}", lambda m, n: c.week(n, 2, _weekday(m[1]))),
    (rf"下(?:个)?{_W}", lambda m, n: c.week(n, 1, _weekday(m[1]))),
    (rf"上(?:个)?{_W}", lambda m, n: c.week(n, -1, _weekday(m[1]))),
    (rf"(?<!每)(?<!每个)(?:这|本)?(?:个)?{_W}", lambda m, n: c.week(n, 0, _weekday(m[1]))),
    (r"下(?:个)?周末|next weekend", lambda _, n: c.weekend(n, 1)),
    (r"上(?:个)?周末|last weekend", lambda _, n: c.weekend(n, -1)),
    (r"(?<!每)(?<!每个)(?:这|本)?(?:个)?周末|this weekend", lambda _, n: c.weekend(n, 0)),
    (r"下(?:个)?(?:周|星期|礼拜)(?!五?年)|next week", lambda _, n: c.week(n, 1)),
    (r"上(?:个)?(?:周|星期|礼拜)|last week", lambda _, n: c.week(n, -1)),
    (r"(?:这|本)(?:个)?(?:周|星期|礼拜)|this week", lambda _, n: c.week(n, 0)),
    (r"下个?月|next month", lambda _, n: _months_on(n, 1)),
    (r"上个?月|last month", lambda _, n: _months_on(n, -1)),
    (r"下个?季度|next quarter", lambda _, n: c.quarter(n, 1)),
    (r"上个?季度|last quarter", lambda _, n: c.quarter(n, -1)),
    (r"后年", lambda _, n: c.whole_year(n, n.year + 2)),
    (r"明年|next year", lambda _, n: c.whole_year(n, n.year + 1)),
    (r"前年", lambda _, n: c.whole_year(n, n.year - 2)),
    (r"去年|last year", lambda _, n: c.whole_year(n, n.year - 1)),
    (r"年底|(?:the )?end of (?:the|this) year|by christmas|圣诞", lambda _, n: c.month(n, n.year, 12)),
    (r"月底|(?:the )?end of (?:the|this) month|这个月|本月|this month", lambda _, n: _months_on(n, 0)),
    (r"下半年", lambda _, n: Period(c.month(n, n.year, 7).start, c.month(n, n.year, 12).end, f"{n.year}-H2")),
    (r"今年|this year", lambda _, n: c.whole_year(n, n.year)),
    (r"国庆", lambda _, n: c.days(c.coming_date(n, 10, 1).start, 7)),
    (r"(?<!二)十一(?=想|去|放假|要|打算|准备|回|出)", lambda _, n: c.days(c.coming_date(n, 10, 1).start, 7)),
    (r"五一(?!路)", lambda _, n: c.days(c.coming_date(n, 5, 1).start, 5)),
    (r"元旦", lambda _, n: c.coming_date(n, 1, 1)),
    (_N + r" ?天(?:之|以)?前", lambda m, n: c.days(n - timedelta(days=_n(m[1])))),
    (_N + r" ?(?:个)?(?:周|星期|礼拜)(?:之|以)?前", lambda m, n: c.week(n, -_n(m[1]))),
    (_N + r" ?个(?:多)?月(?:之|以)?前", lambda m, n: _months_on(n, -_n(m[1]))),
    (_N + r" ?年(?:多)?(?:之|以)?前", lambda m, n: c.whole_year(n, n.year - _n(m[1]))),
    (r"半年(?:之|以)?后|in half a year", lambda _, n: _months_on(n, 6)),
    (r"半年(?:之|以|多)?前|half a year ago", lambda _, n: _months_on(n, -6)),
    (_N + r" ?天(?:之)?后", lambda m, n: c.days(n + timedelta(days=_n(m[1])))),
    (_N + r" ?(?:个)?(?:周|星期|礼拜)(?:之)?后", lambda m, n: c.week(n, _n(m[1]))),
    (_N + r" ?个月(?:之)?(?:后|内)", lambda m, n: _months_on(n, _n(m[1]))),
    (_N + r" ?年(?:之)?后", lambda m, n: c.whole_year(n, n.year + _n(m[1]))),
    (_E + r" days? ago", lambda m, n: c.days(n - timedelta(days=_n(m[1])))),
    (_E + r" weeks? ago", lambda m, n: c.week(n, -_n(m[1]))),
    (_E + r" months? ago", lambda m, n: _months_on(n, -_n(m[1]))),
    (_E + r" years? ago", lambda m, n: c.whole_year(n, n.year - _n(m[1]))),
    (r"in " + _E + r" days?", lambda m, n: c.days(n + timedelta(days=_n(m[1])))),
    (r"in " + _E + r" weeks?", lambda m, n: c.week(n, _n(m[1]))),
    (r"in " + _E + r" months?", lambda m, n: _months_on(n, _n(m[1]))),
    (r"in " + _E + r" years?", lambda m, n: c.whole_year(n, n.year + _n(m[1]))),
    (r"last " + _WEEKDAY, lambda m, n: c.past_weekday(n, _WEEKDAYS[m[1]])),
    (r"next " + _WEEKDAY, lambda m, n: c.week(n, 1, _WEEKDAYS[m[1]])),
    (r"(?:on|this) " + _WEEKDAY, lambda m, n: c.coming_weekday(n, _WEEKDAYS[m[1]])),
    (r"(\d{1,2})(?:st|nd|rd|th)? (?:of )?" + _MONTH, lambda m, n: c.coming_date(n, _MONTHS[m[2]], int(m[1]))),
    (_MONTH + r" (\d{1,2})(?:st|nd|rd|th)?(?!\d)", lambda m, n: c.coming_date(n, _MONTHS[m[1]], int(m[2]))),
    (r"(?:last|back in) " + _MONTH, lambda m, n: c.past_month(n, _MONTHS[m[1]])),
    (
        r"(?:in|by|until|this|next|early|late|mid-?) ?" + _MONTH,
        lambda m, n: c.coming_month(n, _MONTHS[m[1]]),
    ),
    (r"(?:in|since|back in) ((?:19|20)\d\d)(?!\d)", lambda m, n: c.whole_year(n, int(m[1]))),
    (r"(?<!\d)((?:19|20)\d\d) ?年(?![代\d])", lambda m, n: c.whole_year(n, int(m[1]))),
)
_RULES = tuple((re.compile(source), make) for source, make in _SOURCES)
