"""Whether a new summary may take the old one's place: compared with it, with the sources and with running tasks (R51).

Symbolic, whoever wrote it: a bound that became another number, a "not" that is gone, a guess that became a fact.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from events.model import Origin, SummarySlot
from services.governance.folding import plain
from services.summaries.draft import Heard, Line, Material
from services.summaries.wording import GUESSES, about, negated, numbers, sentences

VANISHED: Final = "constraint_vanished"
FLIPPED: Final = "constraint_flipped"
AGAINST_TASK: Final = "against_the_task"
NO_SOURCE: Final = "without_source"
UNSUPPORTED: Final = "not_in_its_source"
NEGATION: Final = "negation_changed"
NUMBER: Final = "number_changed"
GUESS: Final = "guess_as_fact"

_SAME: Final = 0.6
_GROUNDED: Final = 0.5
_QUOTED: Final = frozenset({SummarySlot.GOAL, SummarySlot.CONSTRAINT, SummarySlot.FACT, SummarySlot.ACTION})


def problems(lines: Sequence[Line], material: Material) -> dict[str, int]:
    """Count what speaks against a summary, by reason; empty where nothing does."""
    found = Counter[str]()
    found.update(_of_constraints(lines, material))
    for line in lines:
        found.update(_of_line(line, material))
    return dict(found)


def _of_constraints(lines: Sequence[Line], material: Material) -> Iterable[str]:
    constraints = [line for line in lines if line.slot is SummarySlot.CONSTRAINT]
    newest = max((each.number for each in material.heard), default=0)
    at = {each.message_id: each.number for each in material.heard}
    for old in (line for line in material.before if line.slot is SummarySlot.CONSTRAINT):
        since = max((at.get(message, -1) for message in old.messages), default=-1)
        if _said_anew(old.text, material.heard, since, newest):
            continue  # the person has said otherwise, or again, since
        same = [line for line in constraints if about(old.text, line.text) >= _SAME]
        if not same:
            yield VANISHED
        elif not any(_agree(old.text, line.text) for line in same):
            yield FLIPPED
    for line in constraints:
        task = [each for each in material.constraints if about(each, line.text) >= _SAME]
        if task and not any(_agree(each, line.text) for each in task):
            yield AGAINST_TASK


def _said_anew(text: str, heard: Iterable[Heard], since: int, until: int) -> bool:
    later = (each for each in heard if each.origin is Origin.USER and since < each.number <= until)
    return any(about(text, each.text) >= _SAME for each in later)


def _agree(one: str, other: str) -> bool:
    return negated(one) == negated(other) and numbers(one) == numbers(other)


def _of_line(line: Line, material: Material) -> Iterable[str]:
    if not line.messages and not line.memories:
        yield NO_SOURCE
        return
    if line.slot not in _QUOTED:
        return
    sources = _sources(line, material)
    if not sources:
        if line not in material.before:  # what was compared before stands, though its messages are out of reach
            yield NO_SOURCE
        return
    best = max(sources, key=lambda text: about(line.text, text))
    if about(line.text, best) < _GROUNDED:
        yield UNSUPPORTED
        return
    if not numbers(line.text) <= frozenset[str]().union(*map(numbers, sources)):
        yield NUMBER
    near = _nearest(line.text, best)
    if negated(line.text) != negated(near):
        yield NEGATION
    hedged = GUESSES.search(plain(near)) and not GUESSES.search(plain(line.text))
    if hedged and line.slot in {SummarySlot.FACT, SummarySlot.CONSTRAINT}:
        yield GUESS


def _sources(line: Line, material: Material) -> list[str]:
    """Return the texts a line rests on, as far as they can be read; a claim about the person needs their own words."""
    memories: Mapping[UUID, str] = {each.memory_id: each.content for each in material.known}
    own = line.slot in {SummarySlot.FACT, SummarySlot.CONSTRAINT, SummarySlot.GOAL}
    messages = [
        each.text
        for each in material.heard
        if each.message_id in line.messages and (each.origin is Origin.USER or not own)
    ]
    known = [memories[each] for each in line.memories if each in memories]
    return known or messages


def _nearest(text: str, source: str) -> str:
    """Return the sentence of a source that a text is about."""
    return max(sentences(source) or [source], key=lambda each: about(text, each))
