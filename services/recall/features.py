"""What ranking knows of a memory version besides its relevance (R33), read off its fact and its opened body."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from events.model import Assertion, MemoryBody
from projections.briefs import Brief
from projections.changes import Fact
from projections.tokens import tokenize
from services.extraction.normalise import normalise
from services.extraction.vocabulary import scope_of
from services.governance.lease import Freshness
from services.recall.ranking import Features

_IDENTIFIER: Final = re.compile(r"(?=.*\d)(?=.*[\w.-]).{3,}")
_EVERYWHERE: Final = "personal"
_SAID: Final = 1.0
_GUESSED: Final = 0.5
_UNSAID: Final = frozenset({Assertion.INFERRED, Assertion.HYPOTHETICAL})
_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Task:
    """What the query says about the task at hand: its words, its identifiers and versions, the context it names."""

    words: frozenset[str]
    identifiers: frozenset[str]
    scope: str

    @classmethod
    def of(cls, query: str) -> Self:
        """Read a query."""
        words = frozenset(tokenize(query))
        identifiers = frozenset(word for word in words if _IDENTIFIER.fullmatch(word))
        return cls(words, identifiers, scope_of(normalise(query).folded))


def features_of(
    fact: Fact, body: MemoryBody, state: Freshness, task: Task, *, relevance: float, now: datetime
) -> Features:
    """Return the features of a memory version.

    Authority is whole where the person said it and half where it was inferred. Risk is whole where a sensitive memory
    is out of its lease or in conflict: acting on it wrongly does harm, and it may well be wrong.
    """
    in_conflict = fact.status == "in_conflict"
    stale = state is not Freshness.FRESH
    return Features(
        kind=fact.kind,
        relevance=relevance,
        importance=fact.importance / 1000,
        confidence=fact.confidence / 1000,
        days=(now - fact.occurred_at).total_seconds() / _DAY_S,
        authority=_GUESSED if body.assertion in _UNSAID and not body.explicit else _SAID,
        match=match(body.scope, body.content, task),
        risk=float(body.sensitivity is not None and (stale or in_conflict)),
        stale=stale,
        in_conflict=in_conflict,
    )


def at_best(fact: Brief, *, relevance: float, now: datetime) -> Features:
    """Return the features that a memory version has at best, as long as nobody has opened it: none ranks it higher."""
    return Features(
        kind=fact.kind,
        relevance=relevance,
        importance=fact.importance / 1000,
        confidence=fact.confidence / 1000,
        days=(now - fact.occurred_at).total_seconds() / _DAY_S,
        match=1.0,
        in_conflict=fact.status == "in_conflict",
    )


def match(scope: str, content: str, task: Task) -> float:
    """Say how well a memory fits the task, in [0, 1].

    Whole where it belongs to the context or project that the query names; else the share of the query's identifiers and
    versions (`3.11`, `CN-A10293`) that it names too.
    """
    if scope != _EVERYWHERE and (scope == task.scope or task.words >= set(tokenize(scope.partition(":")[2])) != set()):
        return 1.0
    if not task.identifiers:
        return 0.0
    return len(task.identifiers & set(tokenize(content))) / len(task.identifiers)
