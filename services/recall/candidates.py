"""What may matter to a query: by meaning, by words, because it always holds, is new or was said beside it (R32).

An index only proposes. Which of it is current the fact state says (facts ⊕ the events behind them), for one person, in
the reader's transaction. `Blend` bounds how much is read: `hints` memories a path, and four turns around each of the
`seeds` most relevant.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

import numpy as np
from numpy.typing import NDArray

from events.bodies import open_bodies
from events.envelope import StoredEvent, memory_stream
from events.keyring import Keyring
from events.log import read_events, read_stream_behind
from events.model import Kind, MemoryId, Position
from events.postgres import Connection
from projections.changes import State, fold, touched_by, within
from projections.facts import memories_of_turns, newer_events, read_memories, standing_memories
from projections.index import PART as INDEX
from projections.index import index_bodies, vector_of
from projections.keywords import Entry, matching, statistics
from projections.moment import Moment
from projections.sessions import Link, turns_around
from projections.vectors import Hit
from services.recall.blend import Blend
from services.recall.bm25 import Key, keyword_scores
from services.recall.fusion import fuse
from services.recall.neighbours import with_neighbours
from services.wire.traces import RecallPath

_REACH = 2  # turns in either direction
_EACH = 4  # memories of a neighbouring turn
_STANDING = 8  # formats, profile and procedures; as many as a context holds
_CURRENT = frozenset({"current", "in_conflict"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as the paths take it: vector, keyed terms, its breadth in words, and the model that made the vector."""

    vector: NDArray[np.float32]
    terms: Sequence[int]
    words: float
    model: str


@dataclass(frozen=True, slots=True)
class Clue:
    """How a memory version was found, in ids and numbers only.

    `dense` is its cosine with the query and `words` its BM25, with the rank that the path itself gave it.
    """

    kind: Kind
    paths: tuple[RecallPath, ...]
    relevance: float = 0.0
    dense: float | None = None
    dense_rank: int | None = None
    words: float | None = None
    words_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """Current memories that may matter, and how each was found.

    `unrelated` are unlike the query and have no word in common with it; `hidden` are of kinds the asker may
    not see, and only `clues` know of them.
    """

    facts: State
    clues: Mapping[Key, Clue]
    unrelated: frozenset[Key]
    hidden: frozenset[Key]


class Gathering:
    """Gathers the candidates of one query within one transaction.

    Args:
        connection: under the person's scope.
        keyring: the person's.
        asked: the query.
        blend: how much is read, and what counts how much.
    """

    def __init__(self, connection: Connection, keyring: Keyring, asked: Asked, blend: Blend) -> None:
        self._connection = connection
        self._keyring = keyring
        self._scope = keyring.scope
        self._asked = asked
        self._blend = blend
        self._dense: dict[Key, float] = {}
        self._beyond: float | None = None
        self._entries: dict[Key, Entry] = {}
        self._statistic = (0, 0.0)
        self._shared: dict[Key, float] | None = None
        self._newer: list[StoredEvent] = []

    async def gather(self, hits: Sequence[Hit], moment: Moment, kinds: Collection[Kind] | None) -> Candidates:
        """Gather from all paths.

        Args:
            hits: what the vector index scores, the nearest first; the first `hints` are what it proposes.
            moment: the person's present when the recall began; what the read models had not seen then is added here.
            kinds: which kinds the asker may see (None: all).
        """
        self._dense = {(hit.memory_id, hit.version): hit.score for hit in hits}
        self._beyond = hits[-1].score if len(hits) >= self._blend.scored else None
        nearest = hits[: self._blend.hints]
        entries = await matching(self._connection, self._scope, self._asked.terms)
        self._entries = {(entry.memory_id, entry.version): entry for entry in entries}
        self._statistic = await statistics(self._connection, self._scope)
        by_words = self._by_words()
        best = nlargest(self._blend.hints, by_words, key=lambda key: (by_words[key], key))
        fresh = set[MemoryId]() if moment.settled else await self._fresh(moment.indexed)
        always = await standing_memories(self._connection, self._scope, _STANDING)
        paths: dict[RecallPath, set[MemoryId]] = {
            "vectors": {hit.memory_id for hit in nearest},
            "keywords": {memory for memory, _ in best},
            "standing": always,
            "recent": fresh,
        }
        current = await self._current(set[MemoryId]().union(*paths.values()))
        facts = {key: fact for key, fact in current.items() if kinds is None or fact.kind in kinds}
        relevance = self._relevance(facts)
        seeds = nlargest(self._blend.seeds, relevance, key=lambda key: (relevance[key], key))
        links: list[Link] = []
        if self._blend.beside or self._blend.nearby:
            turns = {facts[key].turn_id for key in seeds}
            links = await turns_around(self._connection, self._scope, turns, _REACH)
            around = await memories_of_turns(self._connection, self._scope, {link.neighbour for link in links}, _EACH)
            paths["beside"] = around - {memory for memory, _ in current}
            beside = await self._current(paths["beside"], self._beyond)
            current |= beside
            facts |= {key: fact for key, fact in beside.items() if kinds is None or fact.kind in kinds}
            relevance = self._relevance(facts)
        shared = self._by_words()
        said_in = {key: fact.turn_id for key, fact in facts.items()}
        relevance = with_neighbours(relevance, said_in, links, seeds, self._blend)
        dense_ranks = {(hit.memory_id, hit.version): place for place, hit in enumerate(nearest, 1)}
        words_ranks = {key: place for place, key in enumerate(best, 1)}
        return Candidates(
            facts=facts,
            clues={
                key: Clue(
                    kind=fact.kind,
                    paths=tuple(path for path, proposed in paths.items() if key[0] in proposed),
                    relevance=relevance.get(key, 0.0),
                    dense=self._dense.get(key),
                    dense_rank=dense_ranks.get(key),
                    words=shared.get(key),
                    words_rank=words_ranks.get(key),
                )
                for key, fact in current.items()
            },
            unrelated=frozenset(
                key for key in facts if self._dense.get(key, 1.0) <= self._blend.floor and key not in shared
            ),
            hidden=frozenset(current.keys() - facts.keys()),
        )

    async def _fresh(self, indexed: Position) -> set[MemoryId]:
        """Read what the facts and the indexes have not seen yet."""
        self._newer, _ = await newer_events(self._connection, self._scope)
        stream = memory_stream(self._scope.subject_id)
        behind = await read_stream_behind(self._connection, self._scope, stream, indexed)
        return touched_by((*self._newer, *behind))

    async def _current(self, memories: Collection[MemoryId], beyond: float | None = None) -> State:
        """Read which versions of some memories are current, and what neither index said of them.

        Args:
            memories: of one person.
            beyond: how near those can be at most that the vector index did not score, as it scored as many as it was
                asked for; None opens what was sealed beside each of them.
        """
        state = within(fold(await read_memories(self._connection, self._scope, memories), self._newer), self._scope)
        current = {key: fact for key, fact in state.items() if key[0] in memories and fact.status in _CURRENT}
        # too new for an index, cold, or proposed by another path
        missing = {fact.event_id: key for key, fact in current.items() if key not in self._dense}
        if beyond is not None:
            self._dense |= dict.fromkeys(missing.values(), beyond)
        if beyond is not None or not missing:
            return current
        events = await read_events(self._connection, missing)
        opened = await open_bodies(self._connection, self._keyring, ((event, INDEX) for event in events.values()))
        for event_id, body in index_bodies(opened).items():
            if body.model == self._asked.model:
                key = missing[event_id]
                self._dense[key] = float(self._asked.vector @ vector_of(body))
                if key not in self._entries:
                    self._entries[key] = Entry(key[0], key[1], body.terms, body.length)
                    self._shared = None
        return current

    def _by_words(self) -> dict[Key, float]:
        if self._shared is None:
            count, mean = self._statistic
            entries = self._entries.values()
            self._shared = keyword_scores(self._asked.terms, entries, count=count, mean_length=mean)
        return self._shared

    def _relevance(self, facts: State) -> dict[Key, float]:
        dense = {key: score for key, score in self._dense.items() if key in facts}
        keyword = {key: score for key, score in self._by_words().items() if key in facts}
        weight = self._blend.keyword_weight(self._asked.words)
        return dict.fromkeys(facts, 0.0) | fuse(dense, keyword, weight)
