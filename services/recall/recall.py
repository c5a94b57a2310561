"""Recall: permission, paths, fact state, rank, fence (R30-R33). What an index returns is a hint; the facts decide."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nlargest
from typing import Final

import numpy as np
import structlog
from numpy.typing import NDArray

from events.bodies import Shredded
from events.errors import UnavailableError
from events.keyring import Keyring
from events.log import fenced
from events.model import Kind, MemoryBody, Scope
from events.postgres import Connection, Database
from events.vault import Vault
from projections.changes import Fact
from projections.embedding import Embedder
from projections.follower import standing
from projections.memories import open_memories
from projections.tokens import terms, tokenize
from projections.vector_index import VectorIndex
from projections.vectors import Hit
from services.access.permission import permission_of
from services.access.rights import TokenRole
from services.recall.blend import BLEND, Blend, breadth
from services.recall.bm25 import Key
from services.recall.candidates import Asked, Candidates, Gathering
from services.recall.features import Task, features_of
from services.recall.lease import Freshness, freshness
from services.recall.ranking import DEFAULT, Features, Preset, rank

log = structlog.get_logger(__name__)

ALWAYS: Final = frozenset({Kind.FORMAT, Kind.PROFILE, Kind.PROCEDURE})
"""Kinds that hold whatever is talked about; all others must have something to do with the query."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A current memory that matters to a query, opened; `features` are what its score was made of."""

    fact: Fact
    body: MemoryBody
    freshness: Freshness
    score: float
    features: Features


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
        blend: how much each path counts; another one only where it is measured what each is worth.
    """

    def __init__(
        self, reader: Database, vault: Vault, index: VectorIndex, embedder: Embedder, blend: Blend = BLEND
    ) -> None:
        self._reader = reader
        self._vault = vault
        self._index = index
        self._embedder = embedder
        self._blend = blend

    async def recall(
        self,
        scope: Scope,
        query: str,
        kinds: Collection[Kind] | None = None,
        *,
        now: datetime | None = None,
        preset: Preset = DEFAULT,
    ) -> Recollection:
        """Recall what one person's memories say about a query; without the vector index by words and recency alone.

        Args:
            scope: whose memories; from the credential.
            query: what is asked.
            kinds: which kinds the asker may see (None: all).
            now: the moment that freshness and age are measured at; the present where it is left out.
            preset: what counts how much in the ranking.
        """
        keyring, vector = await asyncio.gather(self._vault.keyring(scope), self._meant(query))
        words = breadth(tokenize(query))
        asked = Asked(vector, terms(query, keyring.secret("terms")), words, self._embedder.model_id)
        async with self._reader.transaction(scope) as connection:
            models = await standing(connection, ("keywords", "vectors"))
        indexed = min(position for position, _ in models.values())
        hits, degraded = await self._nearest(models["vectors"][1], scope, vector)
        moment = now or datetime.now(UTC)
        async with self._reader.transaction(scope) as connection:
            candidates = await Gathering(connection, keyring, asked, self._blend).gather(hits, indexed, kinds)
            usable, excluded = await _usable(connection, keyring, candidates, self._blend, moment)
            stones = await fenced(connection, scope, {memory for memory, _ in usable})
        task = Task.of(query)
        known = {
            key: features_of(candidates.facts[key], body, state, task, relevance=candidates.relevance[key], now=moment)
            for key, (body, state) in usable.items()
            if key[0] not in stones
        }
        return Recollection(
            tuple(
                Recalled(candidates.facts[each.key], *usable[each.key], each.score, known[each.key])
                for each in rank(known, preset)
            ),
            tuple(excluded) + tuple((key, "role") for key in sorted(candidates.hidden)),
            degraded,
        )

    async def _meant(self, query: str) -> NDArray[np.float32]:
        """Embed the query; the last of several lines counts again in the same vector: still one search."""
        whole = await self._embedder.embed_query(query)
        lines = [line for line in query.splitlines() if line.strip()]
        if len(lines) < 2 or not self._blend.last_line:  # noqa: PLR2004 - several
            return whole
        meant = whole + self._blend.last_line * await self._embedder.embed_query(lines[-1])
        return np.asarray(meant / np.linalg.norm(meant), dtype=np.float32)

    async def _nearest(
        self, place: str, scope: Scope, vector: NDArray[np.float32]
    ) -> tuple[list[Hit], tuple[str, ...]]:
        try:
            return await self._index.search(place, scope, vector, self._blend.hints), ()
        except UnavailableError as error:
            log.warning("recall_degraded", path=self._index.name, error=str(error))
            return [], (self._index.name,)


async def _usable(
    connection: Connection, keyring: Keyring, candidates: Candidates, blend: Blend, now: datetime
) -> tuple[dict[Key, tuple[MemoryBody, Freshness]], list[tuple[Key, str]]]:
    """Open the most relevant candidates, and say why the others may not be used."""
    related = [key for key, fact in candidates.facts.items() if key not in candidates.unrelated or fact.kind in ALWAYS]
    most = nlargest(
        2 * blend.hints,
        related,
        key=lambda key: (candidates.facts[key].kind in ALWAYS, candidates.relevance[key], key),
    )
    excluded = [(key, "unrelated") for key in sorted(candidates.facts.keys() - set(related))]
    excluded += [(key, "limit") for key in sorted(set(related) - set(most))]
    opened = await open_memories(connection, keyring, [candidates.facts[key] for key in most])
    # whoever asks, what is recalled goes to an agent
    permission = await permission_of(connection, keyring.scope, TokenRole.AGENT)
    usable: dict[Key, tuple[MemoryBody, Freshness]] = {}
    for key in most:
        fact = candidates.facts[key]
        body = opened.get(fact.event_id)
        if not isinstance(body, MemoryBody):
            excluded.append((key, "forgotten" if isinstance(body, Shredded) else "key_lost"))
        elif withheld := permission.withheld(fact, body):
            excluded.append((key, withheld))
        else:
            state = freshness(
                fact.kind,
                body.key,
                verified_at=fact.verified_at,
                now=now,
                high_risk=body.sensitivity is not None,
                valid_until=body.valid_until,
            )
            usable[key] = (body, state)
    return usable, excluded
