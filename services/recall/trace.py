"""Writing down how an answer came about (R36): for every candidate how it was found, ranked, and where it ended."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from services.context.values import Compiled
from services.recall.bm25 import Key
from services.recall.ranking import Features
from services.recall.recall import Recollection
from services.wire.traces import Trace, TraceFeatures, TraceStep

MOST: Final = 200  # candidates written down one by one; of the less relevant ones only how many
INJECTED: Final = "injected"


@dataclass(frozen=True, slots=True)
class Asking:
    """Under what an answer was made: preset, digest of the policy, and of a context its budget."""

    preset: str
    policy: str
    token_budget: int | None = None


@dataclass(frozen=True, slots=True)
class Traced:
    """A trace, and the memories its steps are about, in their order."""

    memories: tuple[UUID, ...]
    trace: Trace


def trace_context(recollection: Recollection, asking: Asking, compiled: Compiled) -> Traced | None:
    """Say what became of each candidate of a context; None where no memory was looked for."""
    left = {(each.id, each.version): each.reason for each in compiled.left_out}
    sections = {(each.memory_id, each.version): each.part.value for each in compiled.cited}
    fates = {
        (key := (each.fact.memory_id, each.fact.version)): INJECTED if key in sections else str(left[key])
        for each in recollection.recalled
    }
    return _traced(recollection, asking, fates, sections, compiled.used_tokens)


def trace_search(
    recollection: Recollection, asking: Asking, given: Sequence[Key], seen: Sequence[Key]
) -> Traced | None:
    """Say what became of each candidate of a search: `given` away, or `seen` by the role but beyond the limit."""
    fates = {key: "role" for each in recollection.recalled if (key := (each.fact.memory_id, each.fact.version))}
    fates |= dict.fromkeys(seen, "limit") | dict.fromkeys(given, INJECTED)
    return _traced(recollection, asking, fates, {}, None)


def _traced(
    recollection: Recollection,
    asking: Asking,
    fates: Mapping[Key, str],
    sections: Mapping[Key, str],
    used_tokens: int | None,
) -> Traced | None:
    if (found := recollection.found) is None:
        return None
    ranked = {
        (each.fact.memory_id, each.fact.version): (place, each) for place, each in enumerate(recollection.recalled, 1)
    }
    every = dict(fates) | dict(recollection.excluded)
    ranks = {key: place for key, (place, _) in ranked.items()}
    order = sorted(every, key=lambda key: (ranks.get(key, len(ranks) + 1), -found.clues[key].relevance, key))
    steps = []
    for key in order[:MOST]:
        clue = found.clues[key]
        place, each = ranked.get(key, (None, None))
        steps.append(
            TraceStep(
                version=key[1],
                kind=clue.kind,
                fate=every[key],
                paths=clue.paths,
                dense=_short(clue.dense),
                dense_rank=clue.dense_rank,
                words=_short(clue.words),
                words_rank=clue.words_rank,
                relevance=round(clue.relevance, 4),
                features=None if each is None else _features(each.features),
                score=None if each is None else _short(each.score),
                rank=place,
                section=sections.get(key),
            )
        )
    trace = Trace(
        model=found.model,
        preset=asking.preset,
        policy=asking.policy,
        position=found.moment.position,
        version=found.moment.version,
        indexed=found.moment.indexed,
        degraded=found.degraded,
        cached=found.cached,
        rewriting=found.rewriting,
        token_budget=asking.token_budget,
        used_tokens=used_tokens,
        steps=tuple(steps),
        more=dict(Counter(every[key] for key in order[MOST:])),
    )
    return Traced(tuple(key[0] for key in order[:MOST]), trace)


def _features(features: Features) -> TraceFeatures:
    return TraceFeatures(
        relevance=round(features.relevance, 4),
        importance=features.importance,
        confidence=features.confidence,
        days=round(features.days, 2),
        authority=features.authority,
        match=round(features.match, 3),
        risk=features.risk,
        stale=features.stale,
        in_conflict=features.in_conflict,
    )


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
