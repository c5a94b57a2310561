"""The deterministic summary: the person's own sentences and current memories, each with what it rests on (R51)."""

from collections.abc import Iterable, Iterator
from typing import Final

from events.model import Origin, SummarySlot, TenantId
from services.governance.folding import plain
from services.summaries.draft import ORDER, Draft, Heard, Line, Material
from services.summaries.wording import ASKS, BINDS, GUESSES, NEXT, WANTS, about, sentences

_MOST: Final = {
    SummarySlot.GOAL: 1,
    SummarySlot.CONSTRAINT: 12,
    SummarySlot.FACT: 12,
    SummarySlot.RESULT: 4,
    SummarySlot.QUESTION: 3,
    SummarySlot.ACTION: 2,
}
_SAME: Final = 0.6
_LONGEST: Final = 300


class Rules:
    """The deterministic drafter."""

    name = "rules/1"

    async def draft(self, tenant: TenantId, material: Material) -> Draft:
        """Write the lines that the rules find."""
        del tenant
        return Draft(draft(material), self.name)


def draft(material: Material) -> tuple[Line, ...]:
    """Write the slots, those said last first within each, none twice, nor as a fact what is a constraint.

    A constraint of the summary before stays until the person says another about the same thing.
    """
    lines: list[Line] = []
    for slot in ORDER:
        found: dict[str, Line] = {}
        for line in _lines(slot, material):
            if len(line.text) <= _LONGEST and plain(line.text) not in found:
                found[plain(line.text)] = line
        if slot is SummarySlot.FACT:
            binding = [line.text for line in lines if line.slot is SummarySlot.CONSTRAINT]
            found = {key: line for key, line in found.items() if not any(about(line.text, b) >= _SAME for b in binding)}
        lines += list(found.values())[: _MOST[slot]]
    return tuple(lines)


def _lines(slot: SummarySlot, material: Material) -> Iterator[Line]:
    if slot is SummarySlot.FACT:
        yield from (Line(slot, each.content, (each.memory_id,), each.messages) for each in material.known)
    elif slot is SummarySlot.RESULT:
        tools = [each for each in material.heard if each.origin is Origin.TOOL]
        yield from (Line(slot, each.reference, messages=(each.message_id,)) for each in reversed(tools))
    elif slot is SummarySlot.CONSTRAINT:
        yield from _constraints(material)
    elif slot is SummarySlot.GOAL:
        yield from (Line(slot, text, messages=(each.message_id,)) for each, text in _wishes(material))
        yield from (line for line in material.before if line.slot is slot)
    elif slot is SummarySlot.QUESTION:
        yield from _open_questions(material.heard)
    else:
        last = [each for each in material.heard if each.origin is Origin.ASSISTANT][-1:]
        yield from (
            Line(slot, text, messages=(each.message_id,))
            for each in last
            for text in sentences(each.text)
            if NEXT.search(plain(text)) and not ASKS.search(text)
        )


def _constraints(material: Material) -> Iterator[Line]:
    said = [Line(SummarySlot.CONSTRAINT, text, messages=(each.message_id,)) for each, text in _binding(material)]
    kept: list[Line] = []
    for line in said:  # the newest first: what was said before about the same thing no longer holds
        if not any(about(line.text, newer.text) >= _SAME for newer in kept):
            kept.append(line)
    before = (line for line in material.before if line.slot is SummarySlot.CONSTRAINT)
    kept += [line for line in before if not any(about(line.text, newer.text) >= _SAME for newer in kept)]
    yield from kept


def _binding(material: Material) -> Iterator[tuple[Heard, str]]:
    for each, text in _own(material):
        if BINDS.search(plain(text)) and not GUESSES.search(plain(text)):
            yield each, text


def _wishes(material: Material) -> Iterator[tuple[Heard, str]]:
    for each, text in _own(material):
        if WANTS.search(plain(text)) and not BINDS.search(plain(text)):
            yield each, text


def _own(material: Material) -> Iterator[tuple[Heard, str]]:
    """Yield the person's own statements, the newest first."""
    for each in reversed(material.heard):
        if each.origin is Origin.USER:
            yield from ((each, text) for text in reversed(sentences(each.text)) if not ASKS.search(text))


def _open_questions(heard: Iterable[Heard]) -> Iterator[Line]:
    """Yield what was asked last and not answered by the other side."""
    talk = [each for each in heard if each.origin in {Origin.USER, Origin.ASSISTANT}]
    for each in talk[-1:]:
        for text in sentences(each.text):
            if ASKS.search(text):
                yield Line(SummarySlot.QUESTION, text, messages=(each.message_id,))
