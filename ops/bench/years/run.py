"""`cenotaph bench years`: two years of use through upkeep, in accelerated time."""

import asyncio
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, TypedDict
from uuid import uuid4

from events.envelope import Command
from events.model import Kind, Scope, SubjectId
from events.sealer import Sealer
from ops.bench.years import clock
from ops.bench.years.measure import Sample, look
from ops.bench.years.people import Person, Scribe, batches
from ops.composition import Composition
from ops.embedded import Embedded
from ops.settings import load_settings
from projections.follower import Follower
from services.upkeep.round import Round
from workers.seal import seal

_WEEK = timedelta(days=7)
_TENANTS = 4
_PLANTED = 2  # of each sort
_USED_EVERY = 8  # weeks
_TIDY_EVERY = 8  # weeks; a worker does it every day, a measurement has no time for that
_APPEND = 240
_UNSEALED = "select exists (select from log.unsealed)"
_STORES = ("database_url", "vault_url", "redis_url", "milvus_uri")


@dataclass(frozen=True)
class Shape:
    """How large a run is: everybody says `turns` things every `step` weeks.

    Every `every` weeks `asked` people are asked. `capacity` of every kind replaces the shipped capacities, which a run
    of this length would not reach.
    """

    people: int = 200
    weeks: int = 104
    step: int = 4
    turns: int = 2
    asked: int = 12
    every: int = 24
    capacity: int = 12


@dataclass
class World:
    """A whole system on servers of its own, at a moment of its own."""

    composition: Composition
    shape: Shape
    people: list[Person]
    scribe: Scribe
    start: datetime
    done: Counter[str] = field(default_factory=Counter)
    upkeep_s: float = 0.0

    async def live(self) -> list[Sample]:
        """Live some weeks at a time; look at the start, every so many weeks, and at the end."""
        await self._at(self.start)
        await self._append([c for person in self.people for c in await self.scribe.plant(person, self.start, _PLANTED)])
        samples = [await self._look(0)]
        for week in range(self.shape.step, self.shape.weeks + 1, self.shape.step):
            now = self.start + week * _WEEK
            await self._at(now)
            said = [await self.scribe.chatter(person, now, self.shape.turns) for person in self.people]
            await self._append([command for commands in said for command in commands])
            if week % _USED_EVERY == 0:
                await self._use(now)
            await self._tend(now, self.composition.expiry)
            if week % _TIDY_EVERY == 0:
                capacity = dict.fromkeys(Kind, self.shape.capacity)
                await self._tend(now, self.composition.tidying(capacity=capacity))
            if week % self.shape.every == 0 or week == self.shape.weeks:
                samples.append(await self._look(week))
        return samples

    async def _look(self, week: int) -> Sample:
        now = self.start + week * _WEEK
        owner, asked = self.composition.log(None), self.people[: self.shape.asked]
        return await look(owner, self.composition.recall, asked, week * 7, now)

    async def _at(self, now: datetime) -> None:
        await clock.turn_to(self.composition.log(None), now)

    async def _append(self, commands: Sequence[Command]) -> None:
        # a turn comes before what was decided about it, whatever order an append is written in
        turns = [each for each in commands if each.stream.startswith("turns/")]
        decisions = [each for each in commands if not each.stream.startswith("turns/")]
        for own in (turns, decisions):
            for batch in batches(own, _APPEND):
                await asyncio.gather(*map(self.composition.events.append, batch))
        await self._follow()

    async def _use(self, now: datetime) -> None:
        """Record that agents were given what is in use, as a compiled context does."""
        async with self.composition.log(None).connection() as connection:
            for person in self.people:
                scope = person.keyring.scope
                used = [each.memory_id for each in person.planted if each.sort == "used"]
                await connection.execute(
                    "insert into ops.read (read_id, tenant_id, subject_id, role, memories, versions, at)"
                    " values ($1, $2, $3, 'chat', $4, $5, $6)",
                    uuid4(),
                    scope.tenant_id,
                    scope.subject_id,
                    used,
                    [1] * len(used),
                    now,
                )

    async def _tend(self, now: datetime, round_: Round) -> None:
        begun = time.perf_counter()
        async for plan in round_.run(now):
            self.done.update(plan.counts())
        await self._follow()
        await self.composition.shredder.catch_up()
        self.upkeep_s += time.perf_counter() - begun

    async def _follow(self) -> None:
        async with self.composition.log(None).connection() as connection:
            while await connection.fetchval(_UNSEALED):  # noqa: ASYNC110 - the sealer rings in the database
                await asyncio.sleep(0.01)
        for model in self.composition.projections().values():
            await Follower(model, self.composition.log("projector")).catch_up()


class Result(TypedDict):
    """What a run found: samples, what upkeep did by reason, entries of read models that differ, seconds, load."""

    shape: dict[str, Any]
    samples: list[dict[str, Any]]
    done: dict[str, int]
    read_models_that_differ: dict[str, int]
    seconds: int
    upkeep_seconds: int
    load: dict[str, tuple[float, float, float]]


async def measure(shape: Shape, folder: Path) -> Result:
    """Run it; return the samples, what upkeep did, and what it cost."""
    load = os.getloadavg()
    settings = load_settings(data=folder, **dict.fromkeys(_STORES))
    with Embedded(settings) as embedded:
        composition = Composition(settings, embedded.endpoints)
        await composition.migrate()
        await clock.install(composition.log(None))
        sealing = asyncio.create_task(seal(Sealer(composition.log("sealer"))))
        begun = time.perf_counter()
        try:
            start = datetime.now(UTC) - shape.weeks * _WEEK
            world = World(composition, shape, await _people(composition, shape), Scribe(composition.embedder), start)
            samples = await world.live()
            faults = {report.model: report.found async for report in composition.differ().run()}
        finally:
            sealing.cancel()
            with suppress(asyncio.CancelledError):
                await sealing
            await composition.close()
    return {
        "shape": asdict(shape),
        "samples": [asdict(sample) for sample in samples],
        "done": dict(sorted(world.done.items())),
        "read_models_that_differ": faults,
        "seconds": round(time.perf_counter() - begun),
        "upkeep_seconds": round(world.upkeep_s),
        "load": {"before": load, "after": os.getloadavg()},
    }


async def _people(composition: Composition, shape: Shape) -> list[Person]:
    keeper = composition.vault("keeper")
    tenants = [await keeper.create_tenant() for _ in range(_TENANTS)]
    people = []
    for number in range(shape.people):
        scope = Scope(tenant_id=tenants[number % _TENANTS], subject_id=SubjectId(uuid4()))
        people.append(Person(await keeper.keyring(scope), Random(number)))  # noqa: S311 - dice of a measurement
    return people


def problems(result: Result) -> list[str]:
    """Say what must not be: something asked for that is gone, a read model that differs from the log."""
    last = result["samples"][-1]
    found = [] if last["kept"]["asked"] == 1 else ["something that was asked for is gone"]
    return found + [f"read model {name} differs" for name, count in result["read_models_that_differ"].items() if count]


def main(shape: Shape) -> Result:
    """Run it to its end in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="cenotaph-bench-") as folder:
        return asyncio.run(measure(shape, Path(folder) / "data"))
