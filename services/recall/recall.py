"""Recall: permission, paths, fact state, rank, fence (R30-R33). What an index returns is a hint; the facts decide."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nlargest

import numpy as np
import structlog
from numpy.typing import NDArray

from events.bodies import Shredded, open_bodies
from events.envelope import memory_stream
from events.errors import UnavailableError
from events.keyring import Keyring
from events.log import fenced, read_events, read_stream_behind
from events.model import Kind, MemoryBody, Scope
from events.postgres import Connection, Database
from events.vault import Vault
from projections.changes import Fact, State, fold, touched_by
from projections.choices import read_consents
from projections.embedding import Embedder
from projections.facts import newer_events, read_memories
from projections.follower import standing
from projections.index import PART as INDEX
from projections.index import index_bodies, vector_of
from projections.keywords import Entry, matching, statistics
from projections.memories import open_memories
from projections.tokens import terms
from projections.vector_index import VectorIndex
from projections.vectors import Hit
from services.recall.bm25 import Key, keyword_scores
from services.recall.fusion import fuse
from services.recall.lease import Freshness, freshness
from services.recall.ranking import Features, rank

log = structlog.get_logger(__name__)

_HINTS = 50  # how many memories each path may propose


@dataclass(frozen=True, slots=True)
class Recalled:
    """A current memory that matters to a query, opened."""

    fact: Fact
    body: MemoryBody
    score: float
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class Recollection:
    """What was recalled, best first, and what was proposed but may not be used, with the reason.

    `degraded` names the paths that did not answer: what only they would have proposed is not here.
    """

    recalled: tuple[Recalled, ...]
    excluded: tuple[tuple[Key, str], ...]
    degraded: tuple[str, ...] = ()


class Recall:
    """Finds memories of one person.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys.
        index: the vector index.
        embedder: embeds the query with the model of the index.
    """

    def __init__(self, reader: Database, vault: Vault, index: VectorIndex, embedder: Embedder) -> None:
        self._reader = reader
        self._vault = vault
        self._index = index
        self._embedder = embedder

    async def recall(
        self, scope: Scope, query: str, kinds: Collection[Kind] | None = None, now: datetime | None = None
    ) -> Recollection:
        """Recall what one person's memories say about a query; without the vector index by words and recency alone.

        Args:
            scope: whose memories; from the credential.
            query: what is asked.
            kinds: which kinds the asker may see (None: all).
            now: the moment that freshness and age are measured at; the present where it is left out.
        """
        keyring, vector = await asyncio.gather(self._vault.keyring(scope), self._embedder.embed_query(query))
        wanted = terms(query, keyring.secret("terms"))
        async with self._reader.transaction(scope) as connection:
            models = await standing(connection, ("keywords", "vectors"))
        indexed = min(position for position, _ in models.values())
        hits, degraded = await self._nearest(models["vectors"][1], scope, vector)
        async with self._reader.transaction(scope) as connection:
            entries = await matching(connection, scope, wanted)
            count, mean = await statistics(connection, scope)
            by_words = keyword_scores(wanted, entries, count=count, mean_length=mean)
            best = nlargest(_HINTS, by_words, key=lambda key: (by_words[key], key))
            proposed = {hit.memory_id for hit in hits} | {memory for memory, _ in best}
            newer, _ = await newer_events(connection, scope)
            behind = await read_stream_behind(connection, scope, memory_stream(scope.subject_id), indexed)
            fresh = touched_by((*newer, *behind))
            state = fold(await read_memories(connection, scope, proposed | fresh), newer)
            current = {key: fact for key, fact in state.items() if fact.status in {"current", "in_conflict"}}
            index = await self._unindexed(connection, keyring, current, {(hit.memory_id, hit.version) for hit in hits})
            dense = {(hit.memory_id, hit.version): hit.score for hit in hits} | {
                key: float(vector @ found) for key, (found, _) in index.items()
            }
            known = {(entry.memory_id, entry.version) for entry in entries}
            if unknown := [entry for key, (_, entry) in index.items() if key not in known]:
                by_words = keyword_scores(wanted, entries + unknown, count=count, mean_length=mean)
            keyword = {key: score for key, score in by_words.items() if key in current}
            allowed = {key: fact for key, fact in current.items() if kinds is None or fact.kind in kinds}
            recollection = await self._open(
                connection, keyring, allowed, fuse(dense, keyword), now or datetime.now(UTC)
            )
            stones = await fenced(connection, scope, {each.fact.memory_id for each in recollection.recalled})
        hidden = tuple((key, "role") for key in current.keys() - allowed.keys())
        return Recollection(
            tuple(each for each in recollection.recalled if each.fact.memory_id not in stones),
            recollection.excluded + hidden,
            degraded,
        )

    async def _nearest(
        self, place: str, scope: Scope, vector: NDArray[np.float32]
    ) -> tuple[list[Hit], tuple[str, ...]]:
        try:
            return await self._index.search(place, scope, vector, _HINTS), ()
        except UnavailableError as error:
            log.warning("recall_degraded", path=self._index.name, error=str(error))
            return [], (self._index.name,)

    async def _unindexed(
        self, connection: Connection, keyring: Keyring, current: State, seen: Collection[Key]
    ) -> dict[Key, tuple[NDArray[np.float32], Entry]]:
        """Read vector and terms of what the dense path did not return: too new for it, or found by a word only."""
        missing = {fact.event_id: key for key, fact in current.items() if key not in seen}
        events = await read_events(connection, missing)
        opened = await open_bodies(connection, keyring, ((event, INDEX) for event in events.values()))
        found = {}
        for event_id, body in index_bodies(opened).items():
            if body.model == self._embedder.model_id:
                key = missing[event_id]
                found[key] = (vector_of(body), Entry(key[0], key[1], body.terms, body.length))
        return found

    async def _open(
        self, connection: Connection, keyring: Keyring, facts: State, relevance: Mapping[Key, float], now: datetime
    ) -> Recollection:
        opened = await open_memories(connection, keyring, facts.values())
        consents = await read_consents(connection, keyring)
        excluded: list[tuple[Key, str]] = []
        usable: dict[Key, tuple[MemoryBody, Freshness]] = {}
        for key, fact in facts.items():
            body = opened.get(fact.event_id)
            if not isinstance(body, MemoryBody):
                excluded.append((key, "forgotten" if isinstance(body, Shredded) else "key_lost"))
                continue
            if body.sensitivity in consents.withdrawn:
                excluded.append((key, "consent_withdrawn"))
                continue
            state = freshness(
                fact.kind,
                body.key,
                verified_at=fact.verified_at,
                now=now,
                high_risk=body.sensitivity is not None,
                valid_until=body.valid_until,
            )
            usable[key] = (body, state)
        ranked = rank(
            {
                key: Features(
                    kind=facts[key].kind,
                    relevance=relevance.get(key, 0.0),
                    importance=facts[key].importance / 1000,
                    confidence=facts[key].confidence / 1000,
                    days=(now - facts[key].occurred_at).total_seconds() / 86_400,
                    stale=state is not Freshness.FRESH,
                    in_conflict=facts[key].status == "in_conflict",
                )
                for key, (_, state) in usable.items()
            }
        )
        return Recollection(
            tuple(Recalled(facts[each.key], usable[each.key][0], each.score, usable[each.key][1]) for each in ranked),
            tuple(excluded),
        )
