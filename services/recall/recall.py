"""Recall: permission, paths, fact state, rank, fence (R30-R33). What an index returns is a hint; the facts decide."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime

import structlog

from events.errors import UnavailableError
from events.keyring import Keyring
from events.model import Kind, Scope
from events.postgres import Connection, Database
from events.vault import Vault
from projections.models import Models, Vector
from projections.moment import Moment, Present, present_of
from projections.tokens import keyed, tokenize
from projections.vector_index import VectorIndex
from projections.vectors import Hit
from services.access.permission import Permission
from services.access.rights import TokenRole
from services.recall.aspects import aspects_of
from services.recall.blend import BLEND, Blend, breadth
from services.recall.bm25 import Key
from services.recall.cache import RecallCache
from services.recall.candidates import STANDING, Asked, Gathering
from services.recall.features import Task
from services.recall.found import Found, choose
from services.recall.meaning import Meaning
from services.recall.opening import Opening, Recalled, Wanted
from services.recall.ranking import DEFAULT, Preset
from services.recall.rewriting import Rewriter
from services.wire.traces import Rewriting

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recollection:
    """What was recalled, best first, and what was proposed but may not be used, with the reason.

    `found` says how each candidate was found; None where nobody looked.
    """

    recalled: tuple[Recalled, ...] = ()
    excluded: tuple[tuple[Key, str], ...] = ()
    found: Found | None = None

    @property
    def degraded(self) -> tuple[str, ...]:
        """Name the paths that did not answer: what only they would have proposed is not here."""
        return () if self.found is None else self.found.degraded


@dataclass(frozen=True, slots=True)
class Sought:
    """What may answer a query as far as it was asked for: the gathering, and what the vector index says to it."""

    gathering: Gathering
    moment: Moment
    hits: Sequence[Sequence[Hit]]
    degraded: tuple[str, ...]
    rewriting: Rewriting


class Recall:
    """Finds memories of one person.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys.
        index: the vector index.
        models: embed the query; which one, the index says that serves.
        cache: keeps what was found.
        blend: how much each path counts; another one only where it is measured what each is worth.
        rewriter: rewrites queries; None where they stay as they are.
    """

    def __init__(  # noqa: PLR0917 - the parts of one thing, each of its own type
        self,
        reader: Database,
        vault: Vault,
        index: VectorIndex,
        models: Models,
        cache: RecallCache,
        blend: Blend = BLEND,
        rewriter: Rewriter | None = None,
    ) -> None:
        self._reader = reader
        self._vault = vault
        self._index = index
        self._meaning = Meaning(models, cache, blend.last_line, rewriter)
        self._cache = cache
        self._blend = blend

    async def recall(
        self,
        scope: Scope,
        query: str,
        kinds: Collection[Kind] | None = None,
        *,
        now: datetime | None = None,
        preset: Preset = DEFAULT,
        wanted: Wanted | None = None,
    ) -> Recollection:
        """Recall what one person's memories say about a query; without the vector index by words and recency alone.

        Args:
            scope: whose memories; from the credential.
            query: what is asked.
            kinds: which kinds the asker may see (None: all).
            now: the moment that freshness and age are measured at; the present where it is left out.
            preset: what counts how much in the ranking.
            wanted: how many of the best are opened (None: every candidate).
        """
        keyring, present = await asyncio.gather(self._vault.keyring(scope), self._present(scope))
        moment = present.moment
        permission = Permission(TokenRole.AGENT, present.consents, scope.audience.purpose)
        key = self._key(scope, query, kinds, moment)
        kept = self._cache.recall(key) if moment.settled else None
        sought = kept or await self._sought(keyring, query, present)
        async with self._reader.transaction(scope) as connection:
            if isinstance(sought, Sought):
                found = await self._found(connection, sought, kinds)
                if moment.settled and not found.degraded and found.rewriting != "failed":
                    self._cache.found.keep(key, scope, found)
            else:
                found = sought
            # whoever asks, what is recalled goes to an agent
            opening = Opening(keyring, permission, Task.of(query), preset, now or datetime.now(UTC), found.folded)
            relevance = {key: found.clues[key].relevance for key in found.facts}
            recalled, excluded = await opening.open(connection, found.facts, relevance, wanted)
        return Recollection(recalled, (*found.excluded, *excluded.items()), found)

    async def _present(self, scope: Scope) -> Present:
        async with self._reader.connection() as connection:
            return await present_of(connection, scope, STANDING)

    def _key(self, scope: Scope, query: str, kinds: Collection[Kind] | None, moment: Moment) -> bytes:
        """Say under what that which is found is kept: the versions of what it is made of are part of it (R37)."""
        seen = None if kinds is None else sorted(kinds)
        versions = (moment.version, moment.turns, moment.vectors)
        reach = None if scope.reach is None else scope.reach.model_dump(mode="json")
        who, blend = (scope.tenant_id, scope.subject_id, reach), astuple(self._blend)
        return self._cache.key(*who, query, seen, moment.model, *versions, *blend)

    async def _sought(self, keyring: Keyring, query: str, present: Present) -> Sought:
        """Ask the vector index, and read meanwhile what needs no answer of it; no connection waits for that index."""
        scope, moment = keyring.scope, present.moment
        aspects = aspects_of(query)
        meant = await self._meaning.of(scope, aspects, moment.model)
        secret, rarity = keyring.secret("terms"), self._blend.rarity_of(query)
        asked = [
            Asked(vector, keyed(words := tokenize(aspect), secret), breadth(words), rarity)
            for aspect, vector in zip(aspects, meant.vectors, strict=True)
        ]
        gathering = Gathering(keyring, asked, moment.model, present, self._blend)
        (hits, degraded), _ = await asyncio.gather(
            self._nearest(moment.vectors, scope, meant.vectors), self._proposed(scope, gathering)
        )
        return Sought(gathering, moment, hits, degraded, meant.rewriting)

    async def _proposed(self, scope: Scope, gathering: Gathering) -> None:
        async with self._reader.transaction(scope) as connection:
            await gathering.propose(connection)

    async def _found(self, connection: Connection, sought: Sought, kinds: Collection[Kind] | None) -> Found:
        """Gather candidates in the transaction that opens them."""
        candidates = await sought.gathering.gather(connection, sought.hits, kinds)
        facts, excluded = choose(candidates, self._blend)
        moment = sought.moment
        return Found(
            moment.model,
            moment,
            facts,
            candidates.clues,
            excluded,
            sought.degraded,
            sought.rewriting,
            folded=candidates.folded,
        )

    async def _nearest(
        self, place: str, scope: Scope, vectors: Sequence[Vector]
    ) -> tuple[list[list[Hit]], tuple[str, ...]]:
        """Return what is nearest to each aspect."""
        try:
            return [await self._index.search(place, scope, vector, self._blend.scored) for vector in vectors], ()
        except UnavailableError as error:
            log.warning("recall_degraded", path=self._index.name, error=str(error))
            return [[] for _ in vectors], (self._index.name,)
