"""Which topics of the vocabulary a text, or a memory under its key, is about."""

import re
from collections.abc import Iterable
from functools import lru_cache

from events.model import Kind
from services.extraction.lexicon import compiled, load
from services.extraction.normalise import normalise
from services.extraction.vocabulary import sensitivity_of, topics, vocabulary

_ROOTS = frozenset({"taste", "tool", "identity", "statement", "content", "order", "is", "has"})
"""Parts of keys that say what sort of claim it is, not what it is about."""

_WHOSE = re.compile(r"^(?:我们?的?(?:所有|全部)?|所有|全部|(?:(?:all|any|of|my|our|the) )+)")


def subjects_of(text: str, key: str | None = None) -> frozenset[str]:
    """Return the topics a text names, the parts of life it speaks of, and the parts of its semantic key."""
    folded = normalise(text).folded
    said = {name for name, (named, value) in _measures().items() if named.search(folded) or value.search(folded)}
    return _topics(folded) | _parts(folded) | said | (frozenset((key or "").split(".")) - _ROOTS - {""})


def meant_subjects(description: str) -> frozenset[str]:
    """Return what a description means: what it names, else the part of life; "my coffee" is not all I drink.

    Nor is "my weight" all of my health: what is known by a number is meant alone, whatever unit says it.
    """
    folded = normalise(description).folded
    measured = frozenset(name for name, (named, _) in _measures().items() if named.search(folded))
    return measured or _topics(folded) or _parts(folded)


def is_private(description: str) -> bool:
    """Say whether a text names what is known of a person by a number, or a sensitive class."""
    folded = normalise(description).folded
    return any(named.search(folded) for named, _ in _measures().values()) or sensitivity_of(folded) is not None


def names_of_a_person(description: str) -> bool:
    """Say whether a text names what is known of a person: what is private, a named key, or a part of life."""
    return is_private(description) or bool(_parts(normalise(description).folded))


def meant_kinds(description: str) -> frozenset[Kind]:
    """Return the kinds of memory that a description names as a whole: "my plans", not "my plans for the garden"."""
    folded = _WHOSE.sub("", normalise(description).folded).strip()
    return frozenset(kind for kind, pattern in _kinds().items() if pattern.fullmatch(folded))


def _topics(folded: str) -> frozenset[str]:
    return frozenset(topic.name for topic in topics(folded)) - _ROOTS


def _parts(folded: str) -> frozenset[str]:
    lives = {name: [m.span() for m in pattern.finditer(folded)] for name, pattern in _parts_of_life().items()}
    wider = [span for spans in lives.values() for span in spans]
    named = {
        _head(name)
        for name, pattern in _key_names().items()
        if any(not _within(m.span(), wider) for m in pattern.finditer(folded))
    }
    return frozenset(named | {name for name, spans in lives.items() if spans}) - {""}


def _within(one: tuple[int, int], wider: Iterable[tuple[int, int]]) -> bool:
    """Say whether a name is only a piece of a longer one: the phone of "phone number"."""
    return any(start <= one[0] and one[1] <= end and end - start > one[1] - one[0] for start, end in wider)


def _head(key: str) -> str:
    """Return the part of a key that says what it is about: the first that does not say what sort of claim it is."""
    return next((part for part in key.split(".") if part not in _ROOTS), "")


@lru_cache(maxsize=1)
def _key_names() -> dict[str, re.Pattern[str]]:
    return {name: compiled([entry.zh, entry.en]) for name, entry in vocabulary().items()}


@lru_cache(maxsize=1)
def _kinds() -> dict[Kind, re.Pattern[str]]:
    return {Kind(name): compiled(words) for name, words in load("kinds.yaml").items()}


@lru_cache(maxsize=1)
def _measures() -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
    return {name: (compiled(e["named"]), compiled(e["values"])) for name, e in load("measures.yaml").items()}


@lru_cache(maxsize=1)
def _parts_of_life() -> dict[str, re.Pattern[str]]:
    return {name: compiled(words) for name, words in load("subjects.yaml").items()}
