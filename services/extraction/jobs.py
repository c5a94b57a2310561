"""Stage 4a, tools: with what the person does a job. The job makes the key, so that no product has to be known."""

import re
from collections.abc import Iterator
from functools import lru_cache

from events.model import Frozen, Kind
from services.extraction.lexicon import alternatives, expand, load, macros
from services.extraction.naming import subject_name
from services.extraction.normalise import Text
from services.extraction.person import of_another
from services.extraction.proposal import Proposal
from services.extraction.segment import Sentence
from services.extraction.vocabulary import tool_of
from services.extraction.wording import is_chinese, tidy_value, timeless

_WORK_OF = re.compile(
    r"(?:^(?:all|whole|entire) | (?:tracking|tracker|management|keeping|lists?|log|planning)$|writing$)"
)
_Pattern = re.Pattern[str]


class _Names(Frozen):
    """What people call a job, or the tool for it."""

    zh: list[str]
    en: list[str]

    @property
    def either(self) -> _Pattern:
        """Any of the names."""
        return re.compile(alternatives([*self.zh, *self.en]))


class _Jobs(Frozen):
    """The data file."""

    names: dict[str, _Names]
    pieces: dict[str, str]
    patterns: list[str]
    swaps: list[str]
    elsewhere: list[str]
    not_a_product: _Pattern
    errand: _Pattern

    def compiled(self, sources: list[str], names: _Names | None = None) -> tuple[_Pattern, ...]:
        """Return patterns with their pieces, and the names of one job, in place."""
        known = dict(macros())
        for name, piece in self.pieces.items():
            known[name] = expand(piece, known)
        if names is not None:
            known |= {"zh": alternatives(names.zh), "en": alternatives(names.en)}
        return tuple(re.compile(expand(source, known)) for source in sources)


@lru_cache(maxsize=1)
def _jobs() -> _Jobs:
    return _Jobs.model_validate(load("jobs.yaml"))


@lru_cache(maxsize=1)
def _done_with() -> tuple[tuple[str, _Pattern], ...]:
    jobs = _jobs()
    return tuple((key, each) for key, names in jobs.names.items() for each in jobs.compiled(jobs.patterns, names))


@lru_cache(maxsize=1)
def _swaps() -> tuple[_Pattern, ...]:
    return _jobs().compiled(_jobs().swaps)


@lru_cache(maxsize=1)
def _elsewhere() -> tuple[_Pattern, ...]:
    return _jobs().compiled(_jobs().elsewhere)


def match_jobs(sentence: Sentence, text: Text) -> list[Proposal]:
    """Return with what the person does their jobs; a product that took another's place says whose."""
    if _jobs().errand.search(sentence.text) or of_another(sentence.text):
        return []
    found: list[Proposal] = []
    for key, match in _matches(sentence.text):
        proposal = _proposal(key, match, sentence, text)
        if proposal and not any(p.start < proposal.end and proposal.start < p.end for p in found):
            found.append(proposal)
    if not found and (other := _of_other_job(sentence, text)) is not None:
        found.append(other)
    return found


def _matches(folded: str) -> Iterator[tuple[str | None, re.Match[str]]]:
    for pattern in _swaps():
        if match := pattern.search(folded):
            yield next((key for key, names in _jobs().names.items() if names.either.search(folded)), None), match
    for key, pattern in _done_with():
        if match := pattern.search(folded):
            yield key, match


def _of_other_job(sentence: Sentence, text: Text) -> Proposal | None:
    """Return in which product something of the person's lies whose job has no name here; a product is written large."""
    match = next((found for pattern in _elsewhere() if (found := pattern.search(sentence.text))), None)
    if match is None or not text.shown[sentence.start + match.start("v")].isupper():
        return None
    known = tool_of(match["v"])
    name = subject_name(_WORK_OF.sub("", match["s"])).removesuffix("s")
    return _proposal(known.name if known else f"{name}.tool", match, sentence, text)


def _proposal(key: str | None, match: re.Match[str], sentence: Sentence, text: Text) -> Proposal | None:
    start, end = timeless(sentence.text, *tidy_value(sentence.text, *match.span("v")))
    if start >= end or _jobs().not_a_product.match(sentence.text[start:end]):
        return None
    value = text.shown[sentence.start + start : sentence.start + end]
    clause = sentence.clauses[sentence.clause_at(sentence.start + start)]
    begin = max(sentence.start + match.start(), clause.start)
    stop = sentence.start + max(match.end(), end)
    content = text.shown[begin:stop].lstrip(" ,，").removeprefix("我").removeprefix("的").strip()
    old = match["old"].strip() if "old" in match.re.groupindex else None
    if old is not None:
        content = f"使用{value}" if is_chinese(sentence.text) else f"uses {value}"
        first, last = (sentence.start + place for place in match.span("old"))
        old = text.shown[first:last].strip()
    return Proposal(
        frame="tool_use",
        kind=Kind.FACT,
        key=key,
        value=value,
        content=content,
        start=begin,
        end=stop,
        features=frozenset({"frame"}),
        replaces=old,
    )
