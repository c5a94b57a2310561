"""Stage 4c: what the person means to do, and what they no longer mean to do."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from events.model import Assertion, Kind
from services.extraction.cues import has, lexicon
from services.extraction.dates import Period
from services.extraction.lexicon import expand, load, macros
from services.extraction.normalise import Text
from services.extraction.proposal import Proposal
from services.extraction.segment import Clause, Sentence
from services.extraction.wording import is_chinese, short, tidy_span, tidy_value

_LEADING = re.compile(r"(?:是|了|要|会|就|再|to |be |thinking (?:about|of) |planning (?:to|on) |hoping to )*")
_TEMPORARY = frozenset({"i'll", "i will", "we'll", "we will"})
_SHORTEST = 2
_DATED_ZH = re.compile(r"(?:要|会|得|将|改|想)?(?=(?:去|飞|回|搬|参加|出席|出差|面试|考|结婚|毕业|入职)(?!了|过))")
_OFTEN = re.compile(r"每|有时|经常|通常|一般|常常|偶尔|平时")
_ERRAND_ZH = re.compile(r"(?:帮|给|替|提醒|叫|让)我|吗|怎么|推荐")
_DATED_EN = re.compile(
    r"(?<![a-z])(?:i'm|i am|we're|we are) (?=(?!going to)[a-z]+ing(?![a-z]))|(?<![a-z])i have (?=an? )"
)
_PLACE = re.compile(r"(?:an?|the|my|our|this|that|some|another) ")
_GERUND = re.compile(r"[a-z]+ing(?![a-z])")
_NO_PLAN = re.compile(
    r"(?:not )?have (?!to)[a-z]+|whether|if |not |that |where|how|what|who|which|always |never |definitely |"
    r"(?:do|make|bring|share|show|finish|start|join|try|see|enjoy|have|use|check|take|give|get|keep|"
    r"miss|love|need|remember|cherish) (?:it|that|them|this|you|one|my day)(?![a-z])|"
    r"(?:去)?(?:吃饭|吃晚饭|吃午饭|吃早饭|睡觉|休息|洗澡|上班|忙|工作|睡)"
)  # "I might have known" looks back
_ERRAND = re.compile(
    r"be (?:on (?:an? |the )?(?:train|plane|bus|road|call|phone|flight|ferry|tube)|late|busy|offline|asleep|driving|"
    r"travelling|unreachable|out|away from my desk|home late)(?![a-z])|"
    r"(?:(?:be|go) (?:back|right back|there)|try|check|see|let you know|think about|do that|wait|ask|send|take a look|"
    r"have to|need|tell you|pass|get back|come back|read it|look|test)(?![a-z])"
)


def match_plans(sentence: Sentence, text: Text, when: Period | None, now: datetime, *, ahead: bool) -> list[Proposal]:
    """Return the plans a sentence states; `when` is the period it names, `ahead` says that it has not begun."""
    found = _withdrawn(sentence, text)
    for clause in sentence.clauses:
        if any(p.start < clause.end and clause.start < p.end for p in found):
            continue
        cue = lexicon()["plan"].search(clause.text) or (_dated(clause.text, sentence.text) if ahead else None)
        if (
            cue is None
            or has("third", clause.text[: cue.start()])
            or has("once", clause.text[: cue.start()])
            or has("past", sentence.text[: cue.start() + clause.start - sentence.start])
        ):
            continue
        opening = _LEADING.match(clause.text, cue.end())
        start, end = tidy_value(clause.text, opening.end() if opening else cue.end(), len(clause.text))
        doing = clause.text[start:end]
        if (
            end - start < _SHORTEST
            or _NO_PLAN.match(doing)
            or (when is not None and not ahead and when.end < now)
            or (cue.group() in _TEMPORARY and (_ERRAND.match(doing) or when is None))
        ):
            continue
        plan = _plan(clause, (start, end), text, when, cue.group())
        found.append(replace(plan, ephemeral=_today(when, ahead=ahead)))
    return found


def _plan(clause: Clause, span: tuple[int, int], text: Text, when: Period | None, cue: str) -> Proposal:
    start, end = (clause.start + offset for offset in span)
    value = text.shown[start:end]
    chinese = is_chinese(cue + value)
    date = "" if when is None else f"（{when.label}）" if chinese else f" ({when.label})"
    said = "计划" if chinese else _opening(text.folded[start:end])
    features = {"frame"} | ({"uncertain"} if has("uncertain", cue) else set())
    return Proposal(
        frame="plan",
        kind=Kind.PLAN,
        key="plan",
        value=value,
        content=short(f"{said}{value.strip()}{date}"),
        start=clause.start,
        end=end,
        assertion=Assertion.PLANNED,
        features=frozenset(features),
    )


def _today(when: Period | None, *, ahead: bool) -> bool:
    """Say whether a plan is for the day of the turn: nothing to keep beyond it."""
    return when is not None and not ahead and when.end - when.start < timedelta(days=1)


def _dated(clause: str, sentence: str) -> re.Match[str] | None:
    """Return where a clause says what the person does at a time to come: 我 2 日去大理, I'm flying on Friday."""
    chinese = _DATED_ZH.search(clause)
    if chinese and "我" in sentence and not _OFTEN.search(clause) and not _ERRAND_ZH.search(clause):
        return chinese
    return _DATED_EN.search(clause)


def _opening(doing: str) -> str:
    if _PLACE.match(doing):
        return "plans to go to "
    return "plans " if _GERUND.match(doing) else "plans to "


@lru_cache(maxsize=1)
def _withdrawals() -> tuple[re.Pattern[str], ...]:
    read = load("withdrawn.yaml")
    known = dict(macros())
    for name, piece in read["pieces"].items():
        known[name] = expand(piece, known)
    return tuple(re.compile(expand(source, known)) for source in read["patterns"])


def _withdrawn(sentence: Sentence, text: Text) -> list[Proposal]:
    for pattern in _withdrawals():
        match = pattern.search(sentence.text)
        if match is None:
            continue
        start, end = tidy_span(sentence.text, *match.span("v"))
        start = max(start, match.start("v"))
        if start < end:
            value = text.shown[sentence.start + start : sentence.start + end]
            said = f"计划取消：{value}" if is_chinese(sentence.text) else f"no longer plans: {value}"
            return [
                Proposal(
                    frame="plan_withdrawn",
                    kind=Kind.PLAN,
                    key="plan",
                    value=value,
                    content=said,
                    start=sentence.start + match.start(),
                    end=sentence.start + match.end(),
                    positive=False,
                    assertion=Assertion.NEGATED,
                    correction=True,
                    features=frozenset({"frame"}),
                )
            ]
    return []
