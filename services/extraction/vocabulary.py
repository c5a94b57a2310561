"""The semantic keys: which exist, what they are called, whether they hold several values, how sensitive they are."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from pydantic import Field

from events.model import Frozen, Kind
from services.extraction.lexicon import compiled, load

# Open keys, `<topic>.<aspect>`: in these respects a topic can have several values at once.
_PERSONAL = "personal"
_SEVERAL = frozenset({"content", "order", "cc"})


class SemanticKey(Frozen):
    """One named key of the vocabulary.

    `scope` is the context of a claim that names none itself. `retention` says how long a memory of it is kept: until
    the person revokes or replaces it, or until it fades (`services/upkeep/upkeep.yaml`).
    """

    zh: str
    en: str
    kind: Kind
    multi: bool = False
    sensitivity: str | None = None
    scope: str = _PERSONAL
    retention: Literal["revoked", "fades"] = "revoked"


class Subject(Frozen):
    """What a rule or an attribute is about, and where that is said."""

    name: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class Respect(Frozen):
    """In which respect a topic is ruled, and the value."""

    name: str
    value: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)


@lru_cache(maxsize=1)
def vocabulary() -> dict[str, SemanticKey]:
    """Return the named keys."""
    return {name: SemanticKey.model_validate(entry) for name, entry in load("keys.yaml").items()}


def kinds_of(keys: Iterable[str]) -> frozenset[Kind]:
    """Return the kinds that memories under some keys have: a key outside the vocabulary is a business system's fact."""
    named = vocabulary()
    return frozenset(named[key].kind if key in named else Kind.FACT for key in keys)


def key_table() -> str:
    """Return the page of all named keys as a Markdown table."""
    cells = [
        ("key", "中文", "English", "kind", "values", "sensitive class", "scope", "kept"),
        ("---",) * 8,
        *(
            (
                f"`{name}`",
                *(key.zh, key.en, key.kind.value, "several" if key.multi else "one", key.sensitivity or "", key.scope),
                "until it fades" if key.retention == "fades" else "until revoked or replaced",
            )
            for name, key in vocabulary().items()
        ),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def default_scope(key: str | None) -> str:
    """Return the scope of a claim under a key that names no context itself."""
    named = vocabulary().get(key or "")
    return named.scope if named else _PERSONAL


def holds_several(key: str) -> bool:
    """Say whether a key, named or open, can hold several values at once."""
    named = vocabulary().get(key)
    return named.multi if named else key.rpartition(".")[2] in _SEVERAL


@lru_cache(maxsize=8)
def _patterns(name: str) -> dict[str, re.Pattern[str]]:
    return {entry: compiled(words) for entry, words in load(name).items()}


@lru_cache(maxsize=1)
def _aspects() -> list[tuple[str, re.Pattern[str]]]:
    return [(name, compiled([word])) for name, words in load("aspects.yaml").items() for word in words]


@lru_cache(maxsize=1)
def open_names() -> tuple[frozenset[str], frozenset[str]]:
    """Return the topics and the aspects that open keys, `<topic>.<aspect>`, are made of."""
    return frozenset(load("topics.yaml")), frozenset(load("aspects.yaml"))


def topics(text: str) -> list[Subject]:
    """Return the topics a folded text names, in order; of two that overlap the longer one."""
    hits = [
        Subject(name=n, start=m.start(), end=m.end())
        for n, p in _patterns("topics.yaml").items()
        for m in p.finditer(text)
    ]
    kept: list[Subject] = []
    for hit in sorted(hits, key=lambda h: h.start - h.end):
        if all(hit.end <= other.start or other.end <= hit.start for other in kept):
            kept.append(hit)
    return sorted(kept, key=lambda h: h.start)


def respect(text: str, *, without: frozenset[str] = frozenset()) -> Respect | None:
    """Return the first aspect of the vocabulary that a folded text names."""
    for name, pattern in _aspects():
        match = pattern.search(text) if name not in without else None
        if match:
            group = next((g for g in ("v", "v2") if match.groupdict().get(g)), 0)
            return Respect(name=name, value=match.group(group), start=match.start(group), end=match.end(group))
    return None


def scope_of(text: str) -> str:
    """Return the context a folded text limits itself to."""
    return next((name for name, pattern in _patterns("scopes.yaml").items() if pattern.search(text)), "personal")


def sensitivity_of(text: str) -> str | None:
    """Return the sensitive class a folded text belongs to."""
    return next((name for name, pattern in _patterns("sensitive.yaml").items() if pattern.search(text)), None)


def taste_of(value: str) -> str:
    """Return the taste key of a liked or disliked thing; the last head word decides, as heads come last."""
    hits = [(m.end(), name) for name, pattern in _patterns("tastes.yaml").items() for m in pattern.finditer(value)]
    return f"taste.{max(hits)[1]}" if hits else "taste.thing"


def tool_of(value: str) -> Respect | None:
    """Return the tool that a folded text names, with the key it fills."""
    for name, pattern in _patterns("tools.yaml").items():
        match = pattern.search(value)
        if match:
            return Respect(name=name, value=match.group(), start=match.start(), end=match.end())
    return None
