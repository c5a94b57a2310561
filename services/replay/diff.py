"""Comparing the read models that serve with the log, beside live traffic (R6).

Each read model is built anew up to the position of its own checkpoint, inside a transaction that is rolled back, from
a log that goes on growing; nothing that serves is locked or written. What the live follower does not know yet must not
look like a fault: a memory forgotten behind that position opens no more for us, though it did for the live one.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from events.errors import CenotaphError
from events.log import read_at, read_sealed
from events.model import Accepted, Position
from events.postgres import Connection, Database
from projections.exclusive import exclusive
from projections.mirror import Entry, LooseMirror, Mirror, Pair
from projections.unreadable import require
from services.replay.compare import Difference, Report, difference, pairs
from services.replay.standing import record

LISTED: Final = 1000
"""How many differences of one read model a report lists; all are counted."""

_START: Final = Position(-1)
_ROUNDS = 4
_PAUSE_S = 0.25
_CHECKPOINT = "select position, place from read_model.checkpoint where name = $1 order by version desc limit 1"
# where the tombstone of a memory lies, if it has one: null while it waits for its position
_STONE = """
select s.position from log.fence f join log.event e using (event_id) left join log.sealed s using (seq)
where f.target = $1
"""

Progress = Callable[[str, int, int], None]


@dataclass
class _Count:
    compared: int = 0
    missing: int = 0
    extra: int = 0
    differs: int = 0
    listed: list[Difference] = field(default_factory=list)

    def add(self, found: Difference) -> None:
        setattr(self, found.kind, getattr(self, found.kind) + 1)
        if len(self.listed) < LISTED:
            self.listed.append(found)


class Differ:
    """Builds read models anew and compares.

    Args:
        database: a pool under `cenotaph_projector`.
        mirrors: every read model, by name.
        batch: the most events applied at once.
        rest: for how long to pause after a batch, as a share of the time it took; leaves room for live traffic.
    """

    def __init__(self, database: Database, mirrors: Mapping[str, Mirror], *, batch: int = 500, rest: float = 0) -> None:
        self._database = database
        self._mirrors = mirrors
        self._batch = batch
        self._rest = rest

    @property
    def names(self) -> frozenset[str]:
        """The read models that are compared."""
        return frozenset(self._mirrors)

    async def run(self, progress: Progress = lambda _model, _done, _of: None) -> AsyncIterator[Report]:
        """Compare every read model, one after the other, and write down what came of it.

        Args:
            progress: called with a model's name, positions done, and positions to do.

        Raises:
            CenotaphError: a read model is being rebuilt or compared by another process.
            UnknownEventError: this build does not know an event's type or version.
        """
        for name, mirror in self._mirrors.items():
            async with exclusive(self._database, name):
                report = await self._compare(name, mirror, progress)
                async with self._database.connection() as connection:
                    await record(connection, report)
            yield report

    async def _compare(self, name: str, mirror: Mirror, progress: Progress) -> Report:
        async with self._database.connection() as seeing, self._database.connection() as building:
            snapshot = seeing.transaction(isolation="repeatable_read", readonly=True)
            side = building.transaction()
            await snapshot.start()
            await side.start()
            try:
                run = _Run(name, mirror, seeing, building, self._batch, self._rest, progress)
                return await run.report()
            finally:
                await side.rollback()
                await snapshot.rollback()


@dataclass
class _Run:
    """One read model: `seeing` sees it as it was at one moment, `building` sees the log and the fences as they are."""

    name: str
    mirror: Mirror
    seeing: Connection
    building: Connection
    batch: int
    rest: float
    progress: Progress
    position: Position = _START

    async def report(self) -> Report:
        """Build, compare, look again at what differs."""
        end, place = await self._checkpoint(self.seeing)
        await self.mirror.begin(self.building, place)
        await self._advance(end)
        count, suspects = _Count(), list[Pair]()
        live, built = self.mirror.live(self.seeing, place), self.mirror.built(self.building, place)
        async with aclosing(pairs(live, built)) as both:
            async for pair in both:
                count.compared += 1
                found = difference(self.name, pair)
                if found is None or await self._not_yet(pair):
                    continue
                if isinstance(self.mirror, LooseMirror) and len(suspects) < LISTED:
                    suspects.append(pair)
                else:
                    count.add(found)
        if isinstance(self.mirror, LooseMirror):
            for found in await self._settled(self.mirror, place, suspects):
                count.add(found)
        return Report(
            model=self.name,
            position=end,
            compared=count.compared,
            missing=count.missing,
            extra=count.extra,
            differing=count.differs,
            differences=tuple(count.listed),
        )

    async def _checkpoint(self, connection: Connection) -> tuple[Position, str]:
        row = await connection.fetchrow(_CHECKPOINT, self.name)
        if row is None:
            raise CenotaphError(f"read model {self.name} is not installed; run the migrations")
        return Position(row["position"]), row["place"]

    async def _advance(self, end: Position) -> None:
        while self.position < end:
            began = time.monotonic()
            events = await read_sealed(self.building, self.position, min(self.batch, end - self.position))
            await self.mirror.take(self.building, require(events))
            self.position = Position(events[-1].position or 0)
            self.progress(self.name, self.position + 1, end + 1)
            await asyncio.sleep(self.rest * (time.monotonic() - began))

    async def _not_yet(self, pair: Pair) -> bool:
        """Tell whether the memory is forgotten behind our position, so that its body no longer opens for us."""
        memory = next((entry.memory_id for entry in pair if entry is not None), None)
        stones = [] if memory is None else await self.building.fetch(_STONE, memory)
        return any(stone["position"] is None or stone["position"] > self.position for stone in stones)

    async def _settled(self, mirror: LooseMirror, place: str, suspects: list[Pair]) -> list[Difference]:
        """Look again at what differs, each time a little later, and return what stays different.

        An index that takes no part in transactions may be ahead of its checkpoint, and may miss rows while it flushes.
        """
        for attempt in range(_ROUNDS):
            if not suspects:
                break
            await asyncio.sleep(_PAUSE_S * attempt)
            await self._advance((await self._checkpoint(self.building))[0])
            looked = await mirror.again(self.building, place, [_either(pair) for pair in suspects])
            suspects = [
                pair
                for pair in looked
                if difference(self.name, pair) is not None
                and not await self._not_yet(pair)
                and not await self._ahead(mirror, pair)
            ]
        return [found for pair in suspects if (found := difference(self.name, pair)) is not None]

    async def _ahead(self, mirror: LooseMirror, pair: Pair) -> bool:
        """Tell whether an event behind our position really wrote the live entry."""
        live, _ = pair
        if live is None or (at := mirror.written_at(live)) <= self.position:
            return False
        stored = await read_at(self.building, at)
        event = None if stored is None else stored.event
        return isinstance(event, Accepted) and event.memory_id == live.memory_id


def _either(pair: Pair) -> Entry:
    entry = pair[0] or pair[1]
    assert entry is not None, "a pair has at least one entry"  # noqa: S101 - narrows the type
    return entry
