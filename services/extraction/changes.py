"""Stage 4b, changes: what has become another thing, said in two clauses: "got a new phone, it's a Pixel"."""

import re
from functools import lru_cache
from itertools import pairwise

from events.model import Kind
from services.extraction.cues import starts
from services.extraction.lexicon import compiled, expand, load
from services.extraction.naming import subject_name
from services.extraction.normalise import Text
from services.extraction.proposal import Proposal
from services.extraction.segment import Clause, Sentence
from services.extraction.vocabulary import holds_several, tool_of
from services.extraction.wording import is_chinese, is_pronoun, tidy_span, tidy_value

_ARTICLE = re.compile(r"(?<![a-z])(?:an?|the|using|drink(?:ing)?|doing|learning|playing) $")
_NAME = re.compile(r"(?P<v>(?!i(?:'|$| ))[a-z0-9][\w'&.-]*(?: [a-z0-9][\w'&.-]*){0,2})")
_NAMED = re.compile(r"叫|姓|name|called")
_ROLES = re.compile(
    r"教练|老师|房东|经理|老板|领导|上司|导师|医生|牙医|会计|律师|室友|助理|搭档|师傅|阿姨|"
    r"(?:trainer|coach|teacher|tutor|boss|manager|supervisor|landlord|landlady|dentist|doctor|gp|vet|accountant|lawyer|"
    r"flatmate|roommate|assistant|mentor|agent|editor|cleaner|nanny|hairdresser|barber)$"
)


def match_changes(sentence: Sentence, text: Text) -> list[Proposal]:
    """Return what a sentence says has become another thing: what it is now, or what took its place."""
    if starts("third", sentence.text) and not sentence.text.startswith(("they ", "they'")):
        return []
    for one, other in pairwise(sentence.clauses):
        thing = _announced(_inner(one))
        value = _first("is_now", _inner(other).text) or _apposed(other, text)
        if thing is not None and value is not None:
            found = _now(thing, value, one, other, text)
            return [] if found is None else [found]
    match = _first("gone", sentence.text)
    if match is None or is_pronoun(match["old"]):
        return []
    start, end = tidy_value(sentence.text, *match.span("v"))
    if start >= end or not _is_value(match.string, start, end, text.shown[sentence.start + start]):
        return []
    shown = text.shown[sentence.start + match.start() : sentence.start + match.end()].strip(" ,，")
    return [
        Proposal(
            frame="changed",
            kind=Kind.FACT,
            key=None,
            value=text.shown[sentence.start + start : sentence.start + end],
            content=shown,
            start=sentence.start + match.start(),
            end=sentence.start + match.end(),
            correction=True,
            replaces=match["old"].strip(),
            features=frozenset({"frame"}),
        )
    ]


def _announced(clause: Clause) -> str | None:
    """Return the key of the thing that a clause says is another one now, `home.city`, or the name of the thing."""
    if _first("moved", clause.text):
        return "home.city"
    if _first("hired", clause.text):
        return "work.employer"
    match = _first("announced", clause.text)
    return match["s"].strip() if match and _no_thing().fullmatch(match["s"].strip()) is None else None


def _is_value(stretch: str, start: int, end: int, first: str) -> bool:
    """Say whether words name a thing: in English a name, a number or an article does; "it's great" names none."""
    if is_pronoun(stretch[start:end]) or starts("state", stretch[start:end]):
        return False
    named = first.isupper() or first.isdigit() or _ARTICLE.search(stretch[:start]) is not None
    return named or is_chinese(stretch)


def _apposed(clause: Clause, text: Text) -> re.Match[str] | None:
    """Return a clause that is nothing but a name, written large: "joined a new gym, PowerHouse"."""
    inner = _inner(clause)
    return _NAME.fullmatch(inner.text) if text.shown[inner.start : inner.start + 1].isupper() else None


def _now(thing: str, value: re.Match[str], one: Clause, other: Clause, text: Text) -> Proposal | None:
    offset = _inner(other).start
    start, end = tidy_value(value.string, *value.span("v"))
    if start >= end or not _is_value(value.string, start, end, text.shown[offset + start]):
        return None
    how = {"home.city": "lives", "work.employer": "works"}.get(thing)
    if how and re.search(load("changed.yaml")[how], value.string[:start]) is None:
        return None
    tool = tool_of(value.string[start:end])
    if "." in thing:
        key = thing
    elif tool and tool.start == 0 and not holds_several(tool.name):
        key = tool.name
    else:
        aspect = "name" if _ROLES.search(thing) or _NAMED.search(value.string[: value.start("v")]) else "is"
        key = f"{subject_name(thing)}.{aspect}"
    return Proposal(
        frame="attribute",
        kind=Kind.FACT,
        key=key,
        value=text.shown[offset + start : offset + end],
        content=text.shown[_inner(one).start : other.end].strip(),
        start=one.start,
        end=other.end,
        correction=True,
        features=frozenset({"attribute"}),
    )


def _inner(clause: Clause) -> Clause:
    start, end = tidy_span(clause.text, 0, len(clause.text))
    after = 1 if clause.text[end : end + 1] == "了" else 0  # what has changed is said by it
    return Clause(clause.start + start, clause.start + end + after, clause.text[start : end + after])


def _first(name: str, stretch: str) -> re.Match[str] | None:
    return next((found for pattern in _patterns()[name] if (found := pattern.search(stretch))), None)


@lru_cache(maxsize=1)
def _patterns() -> dict[str, list[re.Pattern[str]]]:
    names = ("announced", "moved", "hired", "is_now", "gone")
    data: dict[str, list[str]] = load("changed.yaml")
    return {name: [re.compile(expand(pattern)) for pattern in data[name]] for name in names}


@lru_cache(maxsize=1)
def _no_thing() -> re.Pattern[str]:
    return compiled(load("changed.yaml")["no_thing"])
