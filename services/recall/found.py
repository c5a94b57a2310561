"""What a query means and what the paths found for it at one moment: ids and numbers, all that a cache may hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Final

from events.model import Kind
from projections.briefs import Briefs
from projections.changes import State
from projections.embedding import Vector
from projections.moment import Moment
from services.recall.blend import Blend
from services.recall.bm25 import Key
from services.recall.candidates import Candidates
from services.recall.clues import Clue
from services.wire.traces import Rewriting

ALWAYS: Final = frozenset({Kind.FORMAT, Kind.PROFILE, Kind.PROCEDURE})
"""Kinds that hold whatever is talked about; all others must have something to do with the query."""


@dataclass(frozen=True, slots=True)
class Meant:
    """The vectors of a query, one an aspect (`aspects.py`), and whether a model had a part in the first."""

    vectors: tuple[Vector, ...]
    rewriting: Rewriting = "off"


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates of one query.

    `facts` are the most relevant, which are worth opening; `excluded` says of all others why they are not. `degraded`
    names the paths that did not answer: what only they would have proposed is not here.
    `folded` are the memories that were changed since the facts table was written.
    """

    model: str
    moment: Moment
    facts: Briefs
    clues: Mapping[Key, Clue]
    excluded: tuple[tuple[Key, str], ...]
    degraded: tuple[str, ...] = ()
    rewriting: Rewriting = "off"
    cached: bool = False
    folded: State = field(default_factory=dict)


def choose(candidates: Candidates, blend: Blend) -> tuple[Briefs, tuple[tuple[Key, str], ...]]:
    """Pick what is worth opening, and say why the rest is not."""
    facts, clues = candidates.facts, candidates.clues
    related = [key for key, fact in facts.items() if key not in candidates.unrelated or fact.kind in ALWAYS]
    most = nlargest(2 * blend.hints, related, key=lambda key: (facts[key].kind in ALWAYS, clues[key].relevance, key))
    excluded = [(key, "unrelated") for key in sorted(facts.keys() - set(related))]
    excluded += [(key, "limit") for key in sorted(set(related) - set(most))]
    excluded += [(key, "role") for key in sorted(candidates.hidden)]
    return {key: facts[key] for key in most}, tuple(excluded)
