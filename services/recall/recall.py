"""Recall: permission, paths, fact state, rank, fence (R30-R33). What an index returns is a hint; the facts decide."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime

import structlog

from events.bodies import Shredded
from events.errors import UnavailableError
from events.keyring import Keyring
from events.model import Kind, MemoryBody, Scope
from events.postgres import Connection, Database
from events.vault import Vault
from projections.changes import Fact
from projections.memories import open_memories
from projections.models import Models, Vector
from projections.moment import Moment, moment_of
from projections.tokens import terms, tokenize
from projections.vector_index import VectorIndex
from projections.vectors import Hit
from services.access.permission import permission_of
from services.access.rights import TokenRole
from services.governance.lease import Freshness, freshness_of
from services.recall.blend import BLEND, Blend, breadth
from services.recall.bm25 import Key
from services.recall.cache import RecallCache
from services.recall.calibration import calibrated
from services.recall.candidates import Asked, Gathering
from services.recall.features import Task, features_of
from services.recall.found import Found, choose
from services.recall.meaning import Meaning
from services.recall.ranking import DEFAULT, Features, Preset, rank
from services.recall.rewriting import Rewriter
from services.wire.traces import Rewriting

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A current memory that matters to a query, opened; `features` are what its score was made of."""

    fact: Fact
    body: MemoryBody
    freshness: Freshness

    @property
    def may_drive_a_write(self) -> bool:
        """Say whether an action may rest on it: neither stale nor in conflict (R20, R34)."""
        return self.freshness.may_drive_a_write and self.fact.status != "in_conflict"

    score: float
    features: Features


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
    """What is asked, and what the vector index says to it."""

    key: bytes
    asked: Asked
    moment: Moment
    kinds: Collection[Kind] | None
    hits: Sequence[Hit]
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
    ) -> Recollection:
        """Recall what one person's memories say about a query; without the vector index by words and recency alone.

        Args:
            scope: whose memories; from the credential.
            query: what is asked.
            kinds: which kinds the asker may see (None: all).
            now: the moment that freshness and age are measured at; the present where it is left out.
            preset: what counts how much in the ranking.
        """
        keyring, moment = await asyncio.gather(self._vault.keyring(scope), self._moment(scope))
        sought = await self._sought(keyring, query, kinds, moment)
        at = now or datetime.now(UTC)
        async with self._reader.transaction(scope) as connection:
            found = await self._gathered(connection, keyring, sought) if isinstance(sought, Sought) else sought
            usable, excluded = await _usable(connection, keyring, found, at)
        task = Task.of(query)
        relevance = calibrated({key: found.clues[key].relevance for key in usable})
        known = {
            key: features_of(found.facts[key], body, state, task, relevance=relevance[key], now=at)
            for key, (body, state) in usable.items()
        }
        return Recollection(
            tuple(
                Recalled(found.facts[each.key], *usable[each.key], each.score, known[each.key])
                for each in rank(known, preset)
            ),
            (*found.excluded, *excluded),
            found,
        )

    async def _moment(self, scope: Scope) -> Moment:
        async with self._reader.transaction(scope) as connection:
            return await moment_of(connection, scope)

    async def _sought(
        self, keyring: Keyring, query: str, kinds: Collection[Kind] | None, moment: Moment
    ) -> Sought | Found:
        """Ask the vector index, or take what was found under the same versions (R37)."""
        scope, model = keyring.scope, moment.model
        seen = None if kinds is None else sorted(kinds)
        versions = (moment.version, moment.turns, moment.vectors)
        reach = None if scope.reach is None else scope.reach.model_dump(mode="json")
        who = (scope.tenant_id, scope.subject_id, reach)
        key = self._cache.key(*who, query, seen, model, *versions, *astuple(self._blend))
        if moment.settled and (kept := self._cache.recall(key)) is not None:
            return kept
        meant = await self._meaning.of(scope, query, model)
        asked = Asked(meant.vector, terms(query, keyring.secret("terms")), breadth(tokenize(query)), model)
        hits, degraded = await self._nearest(moment.vectors, scope, meant.vector)
        return Sought(key, asked, moment, kinds, hits, degraded, meant.rewriting)

    async def _gathered(self, connection: Connection, keyring: Keyring, sought: Sought) -> Found:
        """Gather candidates in the transaction that opens them, and keep them if nothing but the versions made them."""
        moment = sought.moment
        gathering = Gathering(connection, keyring, sought.asked, self._blend)
        candidates = await gathering.gather(sought.hits, moment, sought.kinds)
        facts, excluded = choose(candidates, self._blend)
        found = Found(sought.asked.model, moment, facts, candidates.clues, excluded, sought.degraded, sought.rewriting)
        if moment.settled and not sought.degraded and sought.rewriting != "failed":
            self._cache.found.keep(sought.key, keyring.scope, found)
        return found

    async def _nearest(self, place: str, scope: Scope, vector: Vector) -> tuple[list[Hit], tuple[str, ...]]:
        try:
            return await self._index.search(place, scope, vector, self._blend.scored), ()
        except UnavailableError as error:
            log.warning("recall_degraded", path=self._index.name, error=str(error))
            return [], (self._index.name,)


async def _usable(
    connection: Connection, keyring: Keyring, found: Found, now: datetime
) -> tuple[dict[Key, tuple[MemoryBody, Freshness]], list[tuple[Key, str]]]:
    """Open the most relevant candidates, and say why some may not be used; the fence is read last, by their keys."""
    # whoever asks, what is recalled goes to an agent
    permission = await permission_of(connection, keyring.scope, TokenRole.AGENT)
    opened = await open_memories(connection, keyring, found.facts.values())
    usable: dict[Key, tuple[MemoryBody, Freshness]] = {}
    excluded: list[tuple[Key, str]] = []
    for key, fact in found.facts.items():
        body = opened.get(fact.event_id)
        if not isinstance(body, MemoryBody):
            excluded.append((key, "forgotten" if isinstance(body, Shredded) else "key_lost"))
        elif withheld := permission.withheld(fact, body):
            excluded.append((key, withheld))
        else:
            state = freshness_of(fact, body, now)
            usable[key] = (body, state)
    return usable, excluded
