"""Stage 4f: what happened to the person, and what used to be so: past events, kept as episodes and never as facts."""

import re
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from events.model import Assertion, Kind
from services.extraction.cues import has
from services.extraction.dates import Period
from services.extraction.lexicon import compiled, expand, load
from services.extraction.normalise import Text
from services.extraction.person import in_relative_clause
from services.extraction.proposal import Proposal
from services.extraction.segment import Clause, Sentence
from services.extraction.wording import is_chinese, short, tidy_span

_KEY = "episode"
_VAGUE = re.compile(
    r"(?<![a-z])(?:recently|lately|the other day|a while (?:ago|back)|ages ago|years ago|for the first time|finally|"
    r"back in (?:the |my )?\w+|when i was|once|over the (?:weekend|summer|holidays|break)|ago|last \w+)(?![a-z])|"
    r"最近|前阵子|前段时间|前几天|前不久|不久前|有一次|终于|第一次|那年|小时候|当年|以前|曾经"
)
_EN_SUBJECT = re.compile(
    r"(?:^|[\s,])(?:(?:me|my (?:wife|husband|partner|family|kids|friends?|sister|brother|"
    r"mom|mum|dad|son|daughter|"
    r"girlfriend|boyfriend)) and i|we|i)(?:'ve| have)? "
    r"(?:(?:just|also|finally|recently|actually|even|already|then|both|all|once) ){0,2}"
)
_ZH_SUBJECT = r"(?:我们|咱们|我)(?!的|家|们)(?:<adv>|(?:和|跟|带|陪)[^,，。]{1,10}?(?:一起)?|一起)*"
_TODAY = re.compile(r"今[天早晚日]|刚刚|(?<![a-z])(?:today|tonight|this (?:morning|afternoon|evening))(?![a-z])")
_WHERE = re.compile(
    r"在(?!家|公司|学校|网上|手机|电脑|路上|等)[^,，。了]{1,12}?(?=[去到飞参徒露滑潜旅度自看听认开报完种骑跑表演办做住过拍玩])"
)
_CUT = re.compile(r" (?:and (?:i|it|we|that|now)(?![a-z])|but|because|so|which|since) .*$")
_WITH = re.compile(r"[和跟带陪]")
_NAME = 8
_LONGEST = 120
_SHORTEST = {True: 3, False: 12}  # characters an event needs to say anything, in Chinese and in English


@lru_cache(maxsize=2)
def _lexicon(language: str) -> dict[str, re.Pattern[str]]:
    lists: dict[str, list[str]] = load("events.yaml")[language]
    return {name: compiled(words) for name, words in lists.items()}


@lru_cache(maxsize=1)
def _zh_subject() -> re.Pattern[str]:
    return re.compile(expand(_ZH_SUBJECT))


def match_episodes(sentence: Sentence, text: Text, when: Period | None, now: datetime) -> list[Proposal]:
    """Return the events of the person's life that a sentence tells; `when` is the period it names."""
    found = [_episode(clause, sentence, text, when, now) for clause in sentence.clauses]
    return [proposal for proposal in found if proposal is not None]


def as_episode(proposal: Proposal, sentence: Sentence, text: Text) -> Proposal:
    """Return a claim that its sentence puts into the past as what it is: how things used to be."""
    clause = sentence.clauses[sentence.clause_at(proposal.start)]
    content = _without_subject(text.shown[clause.start : clause.end])
    return replace(
        proposal,
        frame="episode",
        kind=Kind.EPISODE,
        key=_KEY,
        value=short(content),
        content=short(content),
        assertion=Assertion.PAST,
        positive=True,
        correction=False,
    )


def _episode(clause: Clause, sentence: Sentence, text: Text, when: Period | None, now: datetime) -> Proposal | None:
    chinese = is_chinese(clause.text)
    subject = _zh_subject().search(clause.text) if chinese else _EN_SUBJECT.search(clause.text)
    if subject is None or has("third", clause.text[: subject.start()]):
        return None
    if not chinese and in_relative_clause(clause.text, subject.start() + (subject.group()[0] in " ,\t")):
        return None
    words = _lexicon("zh" if chinese else "en")
    told = clause.text[subject.end() :][:_LONGEST]
    if words["routine"].search(told if chinese else told[:40]) or has("hypothetical", sentence.text):
        return None
    dated = _of_then(sentence, when, now)
    where = _WHERE.match(told)
    act = where.end() if where else 0
    there = where is not None and when is not None
    accompanied = chinese and _WITH.search(subject.group()) is not None
    stop = act + _NAME if accompanied else act  # the name of a companion has no end of its own: the verb is behind it
    kinds = [words["always"], *([words["dated"]] if dated else [])]
    event = (dated and there) or any(kind.match(told, at) for kind in kinds for at in range(act, stop + 1))
    if not event or (chinese and not _happened(told, when)):
        return None
    start = clause.start + (subject.start() if chinese else subject.end())
    cut = _CUT.sub("", clause.text[start - clause.start :])
    first, last = tidy_span(cut, 0, len(cut))
    shown = _without_subject(text.shown[start + first : start + last])
    if len(shown) < _SHORTEST[chinese]:
        return None
    date = "" if when is None else f"（{when.label}）" if chinese else f" ({when.label})"
    return Proposal(
        frame="episode",
        kind=Kind.EPISODE,
        key=_KEY,
        value=short(shown),
        content=short(f"{shown}{date}"),
        start=clause.start,
        end=clause.end,
        assertion=Assertion.PAST,
        features=frozenset({"episode"} | ({"dated"} if when else set())),
    )


def _of_then(sentence: Sentence, when: Period | None, now: datetime) -> bool:
    """Say whether a sentence is about another time than the day it was said: what is only of today is small talk."""
    if _VAGUE.search(sentence.text):
        return True
    same_day = when is not None and when.start.date() == when.end.date() == now.date()
    return when is not None and not same_day and _TODAY.search(sentence.text) is None


def _happened(told: str, when: Period | None) -> bool:
    """Say whether a Chinese clause is about what is over: an aspect particle, or a time in the past."""
    return bool(re.search(r"[了过]", told)) or when is not None


def _without_subject(shown: str) -> str:
    return re.sub(r"^(?:我们|咱们|我|I |We |i |we )", "", shown.strip()).strip()
