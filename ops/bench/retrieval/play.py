"""Playing one pool: its items are imported as turns of a fresh person, then every question is asked of recall."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from prometheus_client import CollectorRegistry

from events.errors import CenotaphError
from events.model import Position, Scope, SubjectId
from ops.bench.retrieval.pool import Item, Pool, Question
from ops.bench.retrieval.score import Answered
from ops.composition import Composition
from projections.moment import present_of
from services.recall.blend import BLEND, Blend
from services.recall.cache import RecallCache
from services.recall.recall import Recall, Recollection
from services.remembering.remember import Rememberer
from services.wire.limits import Limits
from services.wire.turns import TurnIn

AS_SERVED: Final = "as served"
_ALONE: Final = replace(BLEND, beside=0.0, nearby=0.0)
_LIMITS = Limits(max_skew=timedelta(days=36_500))  # a set's clock may be ahead of this machine's
_ACTOR = "import"
_POLL_S = 0.05
_CACHED_S = 60.0
_FOLLOWED_S = 300.0
"""How long the read models may take to reach the end of the log."""

WAYS: Final[Mapping[str, Blend]] = {
    "keyword": replace(_ALONE, keyword_short=1.0, keyword_long=1.0),
    "dense": replace(_ALONE, keyword_short=0.0, keyword_long=0.0),
    "hybrid": _ALONE,
    "hybrid + neighbours": BLEND,
}
"""Each path alone, both, and what the product does; ordered by relevance. `AS_SERVED` is the last one ranked (R33)."""


class Player:
    """Imports and asks.

    Args:
        composition: whose sealing and projecting workers are running.
        rememberer: considers the turns.
        speakers: whether the text of an item names who speaks; the product's extractor reads it without.
    """

    def __init__(self, composition: Composition, rememberer: Rememberer, *, speakers: bool) -> None:
        self._composition = composition
        self._rememberer = rememberer
        self._speakers = speakers
        parts = (composition.log("reader"), composition.vault("keeper"), composition.vectors, composition.models)
        cache = RecallCache(_CACHED_S, CollectorRegistry())  # every way asks for the same vectors
        self._recalls = {way: Recall(*parts, cache, blend) for way, blend in WAYS.items()}

    async def play(self, pool: Pool, done: Callable[[], None]) -> list[Answered]:
        """Import a pool for a fresh person of a fresh tenant and ask its questions.

        Args:
            pool: what to play.
            done: called after each item and each question.

        Raises:
            CenotaphError: the read models do not follow.
        """
        keeper = self._composition.vault("keeper")
        tenant = await keeper.create_tenant()
        scope = Scope(tenant_id=tenant, subject_id=SubjectId(UUID(str(await keeper.subject(tenant, "person")))))
        for item in pool.items:
            await self._import(scope, item)
            done()
        await self._followed(scope)
        now = max(item.at for item in pool.items) + timedelta(days=1)
        answered = []
        for question in pool.questions:
            answered.append(await self._ask(scope, question, now))
            done()
        return answered

    async def _import(self, scope: Scope, item: Item) -> None:
        sent = {
            "turn_id": item.item_id,
            "session_id": item.session,
            "occurred_at": item.at.isoformat(),
            "messages": [
                {"message_id": "m", "role": "user", "content": item.said if self._speakers else item.text},
            ],
        }
        turn = TurnIn.model_validate(sent, context=_LIMITS)
        answer = await self._composition.ingest.finalize(scope, turn, _ACTOR)
        while answer.position is None:  # not sealed yet; the same turn again is known and tells its position
            answer = await self._composition.ingest.finalize(scope, turn, _ACTOR)
        await self._rememberer.consider(Position(answer.position))

    async def _followed(self, scope: Scope) -> None:
        """Wait until everything is sealed and every read model has followed: else recall adds what is behind."""
        deadline = asyncio.get_running_loop().time() + _FOLLOWED_S
        async with self._composition.log(None).connection() as connection:
            while True:
                if (await present_of(connection, scope)).moment.settled:
                    return
                if asyncio.get_running_loop().time() > deadline:
                    raise CenotaphError(f"the read models did not follow within {_FOLLOWED_S:.0f} s")
                await asyncio.sleep(_POLL_S)

    async def _ask(self, scope: Scope, question: Question, now: datetime) -> Answered:
        found: dict[str, Sequence[str]] = {}
        recollection = Recollection()
        for way, recall in self._recalls.items():
            recollection = await recall.recall(scope, question.text, now=now)
            found[way] = await self._items(scope, recollection, by_relevance=True)
        found[AS_SERVED] = await self._items(scope, recollection, by_relevance=False)
        return Answered(question, found)

    async def _items(self, scope: Scope, recollection: Recollection, *, by_relevance: bool) -> list[str]:
        recalled = list(recollection.recalled)
        if by_relevance:
            recalled.sort(key=lambda each: -each.features.relevance)
        keyring = await self._composition.vault("keeper").keyring(scope)
        names = await keyring.outside({each.fact.turn_id for each in recalled})
        return [names[each.fact.turn_id] for each in recalled]
