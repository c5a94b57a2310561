"""What a model proposes becomes a candidate only where the person's own words bear it out (R11, R12).

No text that a model writes is kept. Its quote is looked up in what it was shown, its value in that quote; where they
stand is the pointer, and what the memory says are the clauses they stand in. The sentence's own cues then colour the
candidate as they colour those of the rules: a model can make a claim more doubtful or more sensitive, never less.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from events.model import Assertion, Candidate, Kind
from services.extraction.cues import has
from services.extraction.extract import distinct, finished
from services.extraction.material import BLANK
from services.extraction.model.answer import Proposed, sensitive_classes
from services.extraction.model.excerpt import Excerpt, Said
from services.extraction.model.keys import key_of, kind_of
from services.extraction.model.polarity import denials
from services.extraction.normalise import normalise
from services.extraction.person import of_another
from services.extraction.proposal import Proposal
from services.extraction.segment import Clause, Sentence
from services.extraction.vocabulary import scope_of, sensitivity_of
from services.extraction.wording import is_pronoun, short, tidy_span, tidy_value

_OPENING = 30  # who speaks is said at the beginning
_UNSURE = 0.5
_WISHES = frozenset({Kind.PREFERENCE, Kind.FORMAT})
_DIGIT_OR_LETTER = re.compile(r"[a-z0-9]")


class Dropped(StrEnum):
    """Why a proposal is no candidate."""

    NOT_QUOTED = "not_quoted"
    VALUE_NOT_IN_QUOTE = "value_not_in_quote"
    NO_STATEMENT = "no_statement"
    ANOTHER_PERSON = "another_person"
    OTHER_POLARITY = "other_polarity"


@dataclass(frozen=True, slots=True)
class Found:
    """Where a quote and its value stand in what was shown; offsets of the folded text."""

    said: Said
    index: int
    clauses: tuple[Clause, ...]
    value: tuple[int, int]

    @property
    def sentence(self) -> Sentence:
        """The sentence that holds the value."""
        return self.said.read[self.index]

    @property
    def clause(self) -> Clause:
        """The clause that holds the value."""
        return self.sentence.clauses[self.sentence.clause_at(self.value[0])]


def ground(
    proposed: Iterable[Proposed], shown: Excerpt, turn_at: datetime
) -> tuple[tuple[Candidate, ...], Counter[str]]:
    """Return the candidates that the words bear out, and how many proposals were dropped for which reason."""
    kept: list[Candidate] = []
    dropped: Counter[str] = Counter()
    for each in proposed:
        found = locate(each, shown)
        fault = found if isinstance(found, Dropped) else _fault(each, found)
        if isinstance(found, Dropped) or fault is not None:
            dropped[f"dropped_{fault}"] += 1
            continue
        claim = _claim(each, found)
        kept.append(finished(claim, found.index, found.said.read, found.said.text, found.said.message, turn_at=turn_at))
    return tuple(distinct(kept)), dropped


def locate(proposed: Proposed, shown: Excerpt) -> Found | Dropped:
    """Look a quote up, verbatim but for width, script, case and invisible characters, and its value in it."""
    quote, value = (normalise(text).folded.strip() for text in (proposed.quote, proposed.value))
    value = value.rstrip(".")  # whether a sentence goes on behind it, only the message says
    if not quote or BLANK in quote:
        return Dropped.NOT_QUOTED
    quoted = False
    for said in shown.said:
        at = said.own.find(quote)
        while at >= 0:
            quoted = True
            span = _whole(value, said.own, at, at + len(quote))
            found = span and _placed(said, (at, at + len(quote)), span)
            if found:
                return found
            at = said.own.find(quote, at + 1)
    return Dropped.VALUE_NOT_IN_QUOTE if quoted else Dropped.NOT_QUOTED


def _whole(value: str, own: str, start: int, end: int) -> tuple[int, int] | None:
    """Return where a value stands in a stretch, not as a piece of a longer word or number."""
    if not any(char.isalnum() for char in value) or is_pronoun(value):
        return None
    at = own.find(value, start, end)
    while at >= 0:
        stop = at + len(value)
        if not (_joined(own[at - 1 : at + 1]) or _joined(own[stop - 1 : stop + 1])):
            first, last = tidy_value(own, at, stop)
            return (first, last) if first < last else None
        at = own.find(value, at + 1, end)
    return None


def _joined(pair: str) -> bool:
    return len(pair) > 1 and all(_DIGIT_OR_LETTER.match(char) for char in pair)


def _placed(said: Said, quote: tuple[int, int], value: tuple[int, int]) -> Found | None:
    for index, sentence in enumerate(said.read):
        if sentence.start <= value[0] and value[1] <= sentence.end:
            clauses = tuple(c for c in sentence.clauses if c.start < quote[1] and quote[0] < c.end)
            return Found(said, index, clauses, value) if clauses else None
    return None


def _fault(proposed: Proposed, found: Found) -> Dropped | None:
    """Say what in the sentence speaks against the claim."""
    sentence, clause = found.sentence, found.clause
    if sentence.asks or has("sarcasm", sentence.text) or has("meta", sentence.text):
        return Dropped.NO_STATEMENT
    if has("reported", sentence.text[:_OPENING]) or of_another(clause.text.strip()):
        return Dropped.ANOTHER_PERSON
    outside = f"{found.said.own[clause.start : found.value[0]]}\n{found.said.own[found.value[1] : clause.end]}"
    denied = denials(outside)
    if denied > 1 or proposed.positive == bool(denied):
        return Dropped.OTHER_POLARITY
    return None


def _claim(proposed: Proposed, found: Found) -> Proposal:
    start, end = found.clauses[0].start, found.clauses[-1].end
    first, last = tidy_span(found.said.own[start:end], 0, end - start)
    value = found.said.own[slice(*found.value)]
    kind, assertion = proposed.claims
    key = key_of(proposed.key, value)
    kind = kind_of(key, kind)
    if assertion is Assertion.PLANNED or kind is Kind.PLAN or _ahead(assertion, found.clause.text):
        kind, key, assertion = Kind.PLAN, "plan", Assertion.PLANNED if proposed.positive else Assertion.NEGATED
    elif assertion is Assertion.PAST or kind is Kind.EPISODE:
        kind, key, assertion = Kind.EPISODE, "episode", Assertion.PAST
    named = proposed.sensitive if proposed.sensitive in sensitive_classes() else None
    passing = kind in _WISHES and has("once", found.clause.text) and not has("standing", found.sentence.text)
    return Proposal(
        frame="model",
        kind=kind,
        key=key,
        value=short(found.said.text.shown[slice(*found.value)]),
        content=short(found.said.text.shown[start + first : start + last]),
        start=start,
        end=end,
        positive=proposed.positive,
        scope=scope_of(found.sentence.text) if kind in _WISHES else "personal",
        assertion=Assertion.STATED if assertion is Assertion.NEGATED else assertion,
        ephemeral=proposed.once or passing,
        sensitivity=sensitivity_of(found.sentence.text) or named,
        features=frozenset({"model"} | ({"uncertain"} if proposed.confidence < _UNSURE else set())),
    )


def _ahead(assertion: Assertion, clause: str) -> bool:
    """Say whether what a model takes for a fact is only planned, by the clause's own words."""
    return assertion is Assertion.STATED and has("plan", clause)
