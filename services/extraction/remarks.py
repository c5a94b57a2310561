"""Stage 4g: what no stage read but is worded as a change; it says nothing unless something is known of the thing."""

import re
from dataclasses import dataclass
from functools import lru_cache

from events.model import Candidate, Kind
from services.extraction.cues import has
from services.extraction.lexicon import load
from services.extraction.normalise import Text, normalise
from services.extraction.proposal import Proposal
from services.extraction.segment import Sentence
from services.extraction.signs import counts_of, signs_of
from services.extraction.wording import is_pronoun, short, tidy_span, tidy_value

_NEVER = ("hypothetical", "uncertain", "fiction", "sarcasm", "meta", "forget_not")
_SHORTEST, _LONGEST = 3, 160
_REQUEST = re.compile(
    r"\s*(?:那|请|麻烦|所以)?(?:你)?(?:帮|给|替)我|\s*(?:帮忙|推荐|写个|来个|翻译|润色|看看|说说)|"
    r"\s*(?:and |so |also |please )*(?:can|could|would|will) you|\s*(?:and |so )*(?:please )?"
    r"(?:help|suggest|recommend|write|draft|plan|give me|show me|tell me|explain|list|make me|find)(?![a-z])"
)


@dataclass(frozen=True, slots=True)
class Changed:
    """What a thing is now, and how a memory says it."""

    value: str
    content: str


def is_remark(candidate: Candidate) -> bool:
    """Say whether a candidate only tells of a change, and of which thing is not said by a key."""
    return candidate.amends and candidate.key is None


def match_remarks(sentence: Sentence, text: Text) -> list[Proposal]:
    """Return what a sentence tells of a change, without requests around it; nothing where it is doubtful or made up."""
    if sentence.asks or any(has(cue, sentence.text) for cue in _NEVER):
        return []
    clauses = [clause for clause in sentence.clauses if not _REQUEST.match(clause.text)]
    telling = [at for at, clause in enumerate(clauses) if signs_of(clause.text.strip()).tells]
    if not telling:
        return []
    kept = clauses[: telling[-1] + 2] if len(clauses) > telling[-1] + 1 else clauses
    start, end = tidy_span(text.folded, kept[0].start, kept[-1].end)
    if not _SHORTEST <= end - start <= _LONGEST:
        return []
    after = 1 if text.folded[end : end + 1] in {"了", "啦"} else 0  # what has come about is said by it
    shown = short(text.shown[start : end + after])
    return [
        Proposal(
            frame="remark",
            kind=Kind.FACT,
            key=None,
            value=shown,
            content=shown,
            start=start,
            end=end + after,
            correction=True,
            amends=True,
            features=frozenset({"statement"}),
        )
    ]


def value_in(said: str, old: str, content: str) -> Changed:
    """Return what a remark says a thing is now.

    A time, a date or a number takes the place of the old one in the words of the memory; else the remark is kept as it
    is, and its value is what stands behind the words of change, where it is short.

    Args:
        said: the remark.
        old: the value of the memory.
        content: what the memory says.
    """
    text, whole = normalise(said), normalise(content)
    new, known = signs_of(text.folded), signs_of(whole.folded)
    for sort in _swapped():
        before, after = known.sorts.get(sort, frozenset()), new.sorts.get(sort, frozenset())
        if len(before) == 1 and len(after - before) == 1 and len(after) <= len(before) + 1:
            (gone,), (come,) = before, after - before
            at = text.folded.find(come)
            shown = text.shown[at : at + len(come)]
            if whole.folded.count(gone) == 1:
                return _exchanged(whole, normalise(old), gone, shown)
    counted = counts_of(whole.folded), counts_of(text.folded)
    changed = [unit for unit, number in counted[0].items() if counted[1].get(unit, number) != number]
    if len(changed) == 1 and whole.folded.count(gone := counted[0][changed[0]]) == 1:
        return _exchanged(whole, normalise(old), gone, counted[1][changed[0]])
    for pattern in _behind():
        if (match := pattern.search(text.folded)) is not None:
            start, end = tidy_value(text.folded, *match.span("v"))
            if start < end and not is_pronoun(text.folded[start:end]):
                return Changed(text.shown[start:end], said)
    return Changed(said, said)


def _exchanged(whole: Text, value: Text, gone: str, come: str) -> Changed:
    """Put one word in the place of another in what a memory says, and in its value where that has it."""
    content = _with(whole, gone, come)
    return Changed(_with(value, gone, come) if gone in value.folded else content, content)


def _with(whole: Text, gone: str, come: str) -> str:
    at = whole.folded.find(gone)
    return f"{whole.shown[:at]}{come}{whole.shown[at + len(gone) :]}"


@lru_cache(maxsize=1)
def _swapped() -> tuple[str, ...]:
    return tuple(load("signs.yaml")["swapped"])


@lru_cache(maxsize=1)
def _behind() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in load("signs.yaml")["behind"])
