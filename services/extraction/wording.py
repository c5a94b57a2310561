"""How a memory says what was claimed: short, in the person's language, without the words that only frame it."""

import re
from dataclasses import replace
from functools import lru_cache

from services.extraction.cues import has, lexicon, starts
from services.extraction.proposal import Proposal
from services.extraction.segment import Clause

_CJK = re.compile(r"[\u3400-\u9fff]")
_EDGES = ' \t\n,，.。;；:：!！?？~～、"“”'
_PAIRS = (("「", "」"), ("『", "』"), ("“", "”"), ('"', '"'), ("《", "》"), ("'", "'"))
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b50\u2b55\ufe0f\u20e3]+")
_OF_EMOJI = frozenset({"rule", "statement"})  # "end with 🙂" is about one
_CONTENT_LENGTH = 240

_LOOSE_END = re.compile(
    r"(?: (?:for|at|in|on|with|to|of|an?|the|and|or|my|our|by|from|about|as|that|which|who|is|are))+$"
)
_POINTS = re.compile(
    r"^(?:this|that|these|those|the way|这个|那个|这种|那种|这些|那些)(?![a-z])|"
    r"(?:^| )(?:on|of|with|at|about|to|like|for) (?:it|this|these|those|them|him|her)(?![a-z])"
)
_ACT = re.compile(
    r"(?:去|喝|吃|看|听|玩|打|读|做|养|学|弹)(?=[\u4e00-\u9fff])(?!得|不|法|起|到|点|做人)|"
    r"(?:to )?(?:drinking|eating|watching|reading|listening to|playing|drink|eat|watch|read|listen to|play) "
)


@lru_cache(maxsize=1)
def _time_at_end() -> re.Pattern[str]:
    return re.compile(rf"(?:^|(?<=[\s,]))(?:,? ?(?:{lexicon()['time'].pattern}))+$")


def timeless(folded: str, start: int, end: int) -> tuple[int, int]:
    """Shrink the span of a value by words of time at its end: "Utrecht last week" names Utrecht."""
    for pattern in (_time_at_end(), _LOOSE_END):
        match = pattern.search(folded[start:end])
        end = start + match.start() if match and match.start() else end
    return start, end


def is_pronoun(value: str) -> bool:
    """Say whether a value points at something said before instead of naming it."""
    return lexicon()["pronoun"].fullmatch(value.strip()) is not None or _POINTS.search(value) is not None


def bare_thing(folded: str, start: int, end: int) -> int:
    """Return where the liked thing itself begins: "drinking tea" and 喝茶 are about tea, 茶."""
    act = _ACT.match(folded, start, end)
    return act.end() if act and end - act.end() >= 1 else start


def is_chinese(text: str) -> bool:
    """Say whether a text is to be answered in Chinese words."""
    return bool(_CJK.search(text))


def tidy_span(folded: str, start: int, end: int) -> tuple[int, int]:
    """Shrink a span of the folded text by fillers at its beginning and particles at its end."""
    moved = True
    while moved and start < end:
        moved = False
        while start < end and folded[start] in _EDGES:
            start += 1
        opening = lexicon()["preamble"].match(folded, start, end)
        if opening and start < opening.end() < end:
            start, moved = opening.end(), True
    closing = _trailing(folded[start:end])
    return start, max(start, end - closing)


def tidy_value(folded: str, start: int, end: int) -> tuple[int, int]:
    """Shrink the span of a value: blanks, particles, and one pair of quotes around it."""
    while start < end and folded[start] in " \t,，:：":
        start += 1
    end -= _trailing(folded[start:end])
    for opening, closing in _PAIRS:
        if folded.startswith(opening, start):
            close = folded.find(closing, start + 1, end + 1)
            if close > start + 1 and folded.count(opening, start, close + 1) <= 1 + (opening == closing):
                return start + 1, close
    return start, max(start, end)


def without_emoji(proposal: Proposal) -> Proposal:
    """Return a claim without emoji, which say how something was said; a wish may be about them."""
    value, content = (" ".join(_EMOJI.sub(" ", part).split()) for part in (proposal.value, proposal.content))
    if proposal.frame in _OF_EMOJI or not value or not _EMOJI.search(proposal.value + proposal.content):
        return proposal
    return replace(proposal, value=value, content=content)


def without_reasons(clauses: list[Clause]) -> list[Clause]:
    """Drop clauses after the first that only give a reason, or leave the rest as it is."""
    return [
        clause
        for i, clause in enumerate(clauses)
        if i == 0 or not (starts("rationale", clause.text.strip()) or has("residual", clause.text))
    ]


def short(content: str) -> str:
    """Cut a content at a length at which it is still one sentence."""
    clean = " ".join(content.split())
    return clean if len(clean) <= _CONTENT_LENGTH else clean[:_CONTENT_LENGTH].rsplit(" ", 1)[0] + "…"


def _trailing(text: str) -> int:
    match = lexicon()["trailing"].search(text[-40:])
    return len(match.group()) if match and len(match.group()) < len(text) else 0
