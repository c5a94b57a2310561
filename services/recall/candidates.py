"""What may matter to a query: by meaning, by words, because it always holds, is new or was said beside it (R32).

An index only proposes. Which of it is current the fact state says (facts ⊕ the events behind them), for one person, in
the reader's transaction. `Blend` bounds how much is read: `hints` memories a path, and four turns around each of the
`seeds` most relevant.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import nlargest

import numpy as np
from numpy.typing import NDArray

from events.envelope import StoredEvent, memory_stream
from events.keyring import Keyring
from events.log import read_stream_behind
from events.model import EventId, IndexBody, Kind, MemoryId, Tombstoned
from events.postgres import Connection
from projections.around import Link, said_around
from projections.briefs import Brief, Briefs, brief_of, read_briefs
from projections.changes import CURRENT, State, fold, touched_by, within
from projections.facts import newer_events, read_memories
from projections.index import vector_of
from projections.keywords import Entry, matching
from projections.memories import open_index
from projections.moment import Present
from projections.vectors import Hit
from services.recall.aspects import joined
from services.recall.blend import Blend
from services.recall.bm25 import Key, keyword_scores
from services.recall.clues import Clue, clues_of
from services.recall.fusion import fuse
from services.recall.neighbours import with_neighbours
from services.wire.traces import RecallPath

_REACH = 2  # turns in either direction
_EACH = 4  # memories of a neighbouring turn
STANDING = 8  # formats, profile and procedures; as many as a context holds
_MANY = 2  # times as many memories as the vector index scores: it will score half of what others propose, at most


@dataclass(frozen=True, slots=True)
class Asked:
    """An aspect of a query as the paths take it: vector, keyed terms, their breadth in words and rarity."""

    vector: NDArray[np.float32]
    terms: Sequence[int]
    words: float
    rarity: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """Current memories that may matter, and how each was found.

    `unrelated` are unlike the query and have no word in common with it; `hidden` are of kinds the asker may
    not see, and only `clues` know of them. `folded`
    are the memories that events have changed which the facts table has not folded yet.
    """

    facts: Briefs
    clues: Mapping[Key, Clue]
    unrelated: frozenset[Key]
    hidden: frozenset[Key]
    folded: State


class Gathering:
    """Gathers the candidates of one query, in two steps: `propose` needs no answer of the vector index.

    Args:
        keyring: the person's.
        asked: the query, as a whole first, then its questions.
        model: what made the vectors.
        present: the person's when the recall began; what the read models had not seen then is added here.
        blend: how much is read, and what counts how much.
    """

    def __init__(self, keyring: Keyring, asked: Sequence[Asked], model: str, present: Present, blend: Blend) -> None:
        self._keyring = keyring
        self._scope = keyring.scope
        self._asked = asked
        self._model = model
        self._moment = present.moment
        self._blend = blend
        self._dense: list[dict[Key, float]] = [{} for _ in asked]
        self._entries: dict[Key, Entry] = {}
        self._count, self._mean_length = 0, 0.0
        self._shared: list[dict[Key, float]] | None = None
        self._best: list[list[Key]] = []
        self._always = present.standing
        self._fresh: set[MemoryId] = set()
        self._newer: list[StoredEvent] = []
        self._touched: set[MemoryId] = set()
        self._folded: State = {}
        self._read: set[MemoryId] = set()
        self._rows: Briefs = {}
        self._sealed: dict[EventId, IndexBody | None] = {}

    async def propose(self, connection: Connection) -> None:
        """Read what words, kinds and time propose, in a transaction under the person's scope.

        Of a person with many memories the vector index will score few of these, so what was sealed beside them is
        opened already.
        """
        found = await matching(connection, self._scope, self._asked[0].terms)
        self._entries = {(entry.memory_id, entry.version): entry for entry in found.entries}
        self._count, self._mean_length = found.count, found.mean_length
        self._best = [_best(by_words, self._blend.hints) for by_words in self._by_words()]
        if not self._moment.settled:
            self._fresh = await self._unseen(connection)
        if self._count > _MANY * self._blend.scored:
            by_words = {memory for best in self._best for memory, _ in best}
            facts = await self._current(connection, by_words | self._always | self._fresh)
            await self._open(connection, facts.values())

    async def gather(
        self, connection: Connection, hits: Sequence[Sequence[Hit]], kinds: Collection[Kind] | None
    ) -> Candidates:
        """Gather from all paths, in a transaction under the person's scope.

        Args:
            connection: after `propose`.
            hits: what the vector index scores for each aspect, the nearest first; it proposes the first `hints`.
            kinds: which kinds the asker may see (None: all).
        """
        self._dense = [{(hit.memory_id, hit.version): hit.score for hit in found} for found in hits]
        nearest = [found[: self._blend.hints] for found in hits]
        paths: dict[RecallPath, AbstractSet[MemoryId]] = {
            "vectors": {hit.memory_id for found in nearest for hit in found},
            "keywords": {memory for best in self._best for memory, _ in best},
            "standing": self._always,
            "recent": self._fresh,
        }
        current = await self._current(connection, set[MemoryId]().union(*paths.values()))
        await self._score(connection, current)
        facts = {key: fact for key, fact in current.items() if kinds is None or fact.kind in kinds}
        relevance = self._relevance(facts)
        seeds = _best(relevance, self._blend.seeds)
        links: list[Link] = []
        if self._blend.beside or self._blend.nearby:
            links, rows = await said_around(
                connection, self._scope, {facts[key].turn_id for key in seeds}, reach=_REACH, each=_EACH
            )
            beside = self._standing(rows, {memory for memory, _ in rows} - {memory for memory, _ in current})
            paths["beside"] = {memory for memory, _ in beside}
            for dense, found in zip(self._dense, hits, strict=True):
                if len(found) >= self._blend.scored:  # as many as it was asked for, so the others are further away
                    dense |= {key: found[-1].score for key in beside if key not in dense}
            await self._score(connection, beside)
            current |= beside
            facts |= {key: fact for key, fact in beside.items() if kinds is None or fact.kind in kinds}
            relevance = self._relevance(facts)
        said_in = {key: fact.turn_id for key, fact in facts.items()}
        relevance = with_neighbours(relevance, said_in, links, seeds, self._blend)
        return Candidates(
            facts=facts,
            clues=clues_of(
                current, paths, relevance, dense=self._dense, nearest=nearest, words=self._by_words(), best=self._best
            ),
            unrelated=frozenset(
                key
                for key in facts
                if all(dense.get(key, 1.0) <= self._blend.floor for dense in self._dense)
                and not any(key in by_words for by_words in self._by_words())
            ),
            hidden=frozenset(current.keys() - facts.keys()),
            folded=self._folded,
        )

    async def _unseen(self, connection: Connection) -> set[MemoryId]:
        """Read what the facts and the indexes have not seen yet, and fold it over what the facts have of that."""
        self._newer, _ = await newer_events(connection, self._scope)
        if self._newer:
            self._touched = touched_by(self._newer)
            known = await read_memories(connection, self._scope, self._touched)
            self._folded = within(fold(known, self._newer), self._scope)
        stream = memory_stream(self._scope.subject_id)
        behind = await read_stream_behind(connection, self._scope, stream, self._moment.indexed)
        return self._touched | touched_by(behind)

    async def _current(self, connection: Connection, memories: Collection[MemoryId]) -> Briefs:
        """Read which versions of some memories are current."""
        if unread := set(memories) - self._read:
            self._rows |= await read_briefs(connection, self._scope, unread)
            self._read |= unread
        return self._standing(self._rows, memories)

    def _standing(self, rows: Briefs, memories: Collection[MemoryId]) -> Briefs:
        """Say which versions are current, as the rows have it or what was folded over them."""
        if any(isinstance(each.event, Tombstoned) and each.event.whole for each in self._newer):
            return {}
        standing = {key: row for key, row in rows.items() if key[0] in memories and key[0] not in self._touched}
        standing |= {
            key: brief_of(fact) for key, fact in self._folded.items() if key[0] in memories and fact.status in CURRENT
        }
        return within(standing, self._scope)

    async def _score(self, connection: Connection, facts: Briefs) -> None:
        """Score what neither index said something of: too new for it, cold, or proposed by another path."""
        scored = set[Key]().union(*self._dense)
        missing = {fact.event_id: key for key, fact in facts.items() if key not in scored}
        await self._open(connection, [facts[key] for key in missing.values()])
        wanted = frozenset(self._asked[0].terms)
        for event_id, key in missing.items():
            body = self._sealed.get(event_id)
            if body is not None and body.model == self._model:
                vector = vector_of(body)
                for asked, dense in zip(self._asked, self._dense, strict=True):
                    dense[key] = float(asked.vector @ vector)
                if key not in self._entries and not wanted.isdisjoint(body.terms):
                    self._entries[key] = Entry(key[0], key[1], body.terms, body.length)
                    self._shared = None

    async def _open(self, connection: Connection, facts: Collection[Brief]) -> None:
        """Open what was sealed beside some memory versions, of each once; None where it cannot be opened."""
        unopened = [fact for fact in facts if fact.event_id not in self._sealed]
        self._sealed |= dict.fromkeys(fact.event_id for fact in unopened)
        self._sealed |= await open_index(connection, self._keyring, unopened)

    def _by_words(self) -> list[dict[Key, float]]:
        if self._shared is None:
            entries = self._entries.values()
            self._shared = [
                keyword_scores(
                    asked.terms, entries, count=self._count, mean_length=self._mean_length, rarity=asked.rarity
                )
                for asked in self._asked
            ]
        return self._shared

    def _relevance(self, facts: Briefs) -> dict[Key, float]:
        found = []
        for asked, dense, by_words in zip(self._asked, self._dense, self._by_words(), strict=True):
            near = {key: score for key, score in dense.items() if key in facts}
            shared = {key: score for key, score in by_words.items() if key in facts}
            weight = self._blend.keyword_weight(asked.words)
            found.append(dict.fromkeys(facts, 0.0) | fuse(near, shared, weight))
        return joined(found, self._blend)


def _best(scores: Mapping[Key, float], most: int) -> list[Key]:
    return nlargest(most, scores, key=lambda key: (scores[key], key))
