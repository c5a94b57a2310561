"""Which candidates are opened: as many as are wanted, and no more than it takes to be sure that these are the best.

What the facts say of a memory bounds its score from above: at best the person said it, it fits the task and is fresh.
So the best by that bound are opened, until what is wanted outscores, opened, whatever the rest could reach.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from events.bodies import Shredded
from events.keyring import Keyring
from events.model import MemoryBody
from events.postgres import Connection
from projections.briefs import Brief, Briefs
from projections.changes import Fact, State, within
from projections.facts import read_memories
from projections.memories import open_memories
from services.access.permission import Permission
from services.governance.lease import Freshness, freshness_of
from services.recall.bm25 import Key
from services.recall.calibration import calibrated
from services.recall.features import Task, at_best, features_of
from services.recall.ranking import Features, Preset, rank

_AHEAD: Final = 2  # times as many are opened at once as are still wanted


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many memories are wanted, and which of them count; the others come with them where they rank as high."""

    most: int
    counts: Callable[[Fact, MemoryBody], bool]


@dataclass(frozen=True, slots=True)
class Recalled:
    """A current memory that matters to a query, opened; `features` are what its score was made of."""

    fact: Fact
    body: MemoryBody
    freshness: Freshness
    features: Features
    score: float

    @property
    def may_drive_a_write(self) -> bool:
        """Say whether an action may rest on it: neither stale nor in conflict (R20, R34)."""
        return self.freshness.may_drive_a_write and self.fact.status != "in_conflict"


class Opening:
    """Opens candidates of one person, the best first.

    Args:
        keyring: the person's.
        permission: what an agent may see.
        task: what the query says about the task.
        preset: what counts how much.
        now: the moment that freshness and age are measured at.
        folded: the memories that were changed since the facts table was written.
    """

    def __init__(  # noqa: PLR0917 - the parts of one thing, each of its own type
        self, keyring: Keyring, permission: Permission, task: Task, preset: Preset, now: datetime, folded: State
    ) -> None:
        self._keyring = keyring
        self._permission = permission
        self._task = task
        self._preset = preset
        self._now = now
        self._folded = folded
        self._opened: dict[Key, tuple[Fact, MemoryBody, Freshness]] = {}

    async def open(
        self, connection: Connection, facts: Briefs, relevance: Mapping[Key, float], wanted: Wanted | None
    ) -> tuple[tuple[Recalled, ...], dict[Key, str]]:
        """Open what is wanted of some candidates, or all of them. The fence is read last, by their keys.

        Returns:
            What may be used, best first; equal scores in the order of their ids, so that every process answers alike.
            And why the rest may not, or is not worth opening.
        """
        excluded: dict[Key, str] = {key: "suspended" for key, fact in facts.items() if fact.suspended}
        while True:
            usable = [key for key in facts if key not in excluded]
            on_scale = calibrated({key: relevance[key] for key in usable})
            features = {key: self._features(facts[key], on_scale[key], key) for key in usable}
            ranked = rank(features, self._preset)
            if not (unopened := self._next([each.key for each in ranked], facts, wanted)):
                break
            excluded |= await self._open(connection, unopened)
        opened = tuple(
            Recalled(*self._opened[key], features[key], each.score)
            for each in ranked
            if (key := each.key) in self._opened
        )
        return opened, excluded | {each.key: "limit" for each in ranked if each.key not in self._opened}

    def _features(self, fact: Brief, relevance: float, key: Key) -> Features:
        """Return what ranking knows of a candidate: all there is to know once it is opened, the best until then."""
        if key not in self._opened:
            return at_best(fact, relevance=relevance, now=self._now)
        known, body, state = self._opened[key]
        return features_of(known, body, state, self._task, relevance=relevance, now=self._now)

    def _next(self, ranked: Sequence[Key], facts: Briefs, wanted: Wanted | None) -> list[Key]:
        """Say which to open next, none where what is wanted is there: it must all come before what is not opened.

        Whether an agent may see a memory changes the scale of the others, so what only its body tells is opened too.
        """
        unopened = [key for key in ranked if key not in self._opened]
        if wanted is None or self._permission.consents.withdrawn or self._permission.consents.purposes:
            return unopened
        unsure = [key for key in unopened if facts[key].gate is not None]
        place = {key: at for at, key in enumerate(ranked)}
        counting = [place[key] for key in ranked if key not in self._opened or wanted.counts(*self._opened[key][:2])]
        if not unsure and (not unopened or place[unopened[0]] > max(counting[: wanted.most], default=0)):
            return []
        last = max(counting[: _AHEAD * wanted.most], default=0)
        return [*unsure, *(key for key in unopened if facts[key].gate is None and place[key] <= last)]

    async def _open(self, connection: Connection, wanted: Collection[Key]) -> dict[Key, str]:
        """Read and open some candidates; say why some of them may not be used."""
        excluded: dict[Key, str] = {}
        scope = self._keyring.scope
        facts = within(await read_memories(connection, scope, {memory for memory, _ in wanted}), scope) | self._folded
        bodies = await open_memories(connection, self._keyring, [facts[key] for key in wanted if key in facts])
        for key in wanted:
            fact = facts.get(key)  # a row that has gone since was erased
            body = None if fact is None else bodies.get(fact.event_id)
            if fact is None or not isinstance(body, MemoryBody):
                excluded[key] = "forgotten" if fact is None or isinstance(body, Shredded) else "key_lost"
            elif withheld := self._permission.withheld(fact, body):
                excluded[key] = withheld
            else:
                self._opened[key] = (fact, body, freshness_of(fact, body, self._now))
        return excluded
