"""Background turns at a steady rate, and the highest rate at which what waits does not grow."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean

from cenotaph.calls import Turn
from cenotaph.client import AsyncCenotaph
from cenotaph.errors import CenotaphError as DoorError
from events.errors import CenotaphError
from events.model import SubjectId
from events.postgres import Database

_PEOPLE = 20
FIRST = 1.0
"""The rate that is tried first, turns a second."""
STEP = 1.5
_LOWEST = 0.05
_LAG_S = 2.0
_FEW = 2
"""So many turns may wait at any rate: one has just come, and one is being considered."""
_TICK_S = 0.1
_GIVE_UP_S = 300.0


@dataclass
class Window:
    """What waited while turns came at a rate.

    `backlog` holds the turns that had been sent and not considered, ten times a second; `drained_s` says how long after
    the last one all were considered, `refused` how many the door did not take.
    """

    rate: float
    backlog: list[int] = field(default_factory=list)
    drained_s: float = 0.0
    refused: int = 0

    @property
    def middle(self) -> float:
        """The mean backlog of the second quarter."""
        return _mean(self.backlog[len(self.backlog) // 4 : len(self.backlog) // 2])

    @property
    def end(self) -> float:
        """The mean backlog of the last quarter."""
        return _mean(self.backlog[len(self.backlog) * 3 // 4 :])

    @property
    def lags(self) -> bool:
        """Say whether by now, over the last second, more waits than two seconds' worth."""
        return _mean(self.backlog[-round(1 / _TICK_S) :]) > max(_FEW, self.rate * _LAG_S)

    @property
    def flat(self) -> bool:
        """Say whether no more waited at the end than in the middle, but for one turn, and all was considered soon."""
        grown = self.end > self.middle + max(1.0, self.rate * _TICK_S)
        return not (grown or self.lags or self.refused) and self.drained_s <= _LAG_S

    def figures(self) -> dict[str, object]:
        """Return it for the report."""
        return {
            "turns_per_s": round(self.rate, 2),
            "waiting_middle": round(self.middle, 1),
            "waiting_end": round(self.end, 1),
            "drained_s": round(self.drained_s, 2),
            "refused": self.refused,
            "flat": self.flat,
        }


class Load:
    """Turns of people who are not measured, sent whether or not the one before was answered.

    Args:
        door: where they go.
        key: the tenant's API key.
        log: the log's database, to see what waits.
        measured: who is measured, and so does not count.
    """

    def __init__(self, door: AsyncCenotaph, key: str, log: Database, measured: SubjectId) -> None:
        self._people = [door.for_subject(key, f"load-{number}") for number in range(_PEOPLE)]
        self._log = log
        self._measured = measured
        self._sent = self._refused = 0

    async def highest(self, seconds: float) -> tuple[float | None, list[Window]]:
        """Return the highest rate that was flat, None where none was, and all that were tried.

        It is raised by half while it is flat; where the first one is not, it is lowered until one is.

        Args:
            seconds: how long each rate is tried.

        Raises:
            CenotaphError: what waits is never considered.
        """
        tried = [await self._try(FIRST, seconds)]
        up = tried[0].flat
        while tried[-1].flat is up and tried[-1].rate > _LOWEST:
            tried.append(await self._try(tried[-1].rate * (STEP if up else 1 / STEP), seconds))
        return max((each.rate for each in tried if each.flat), default=None), tried

    @asynccontextmanager
    async def at(self, rate: float) -> AsyncIterator[Window]:
        """Send so many turns a second for the length of a block, then wait until all of them are considered.

        Raises:
            CenotaphError: one never is.
        """
        window, refused = Window(rate), self._refused
        said: set[asyncio.Task[None]] = set()
        running = [asyncio.create_task(self._send(rate, said)), asyncio.create_task(self._watch(window))]
        try:
            yield window
            for task in running:
                if task.done():  # both go on until they are cancelled
                    task.result()
        except BaseException:
            for task in said:
                task.cancel()
            raise
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            begun = time.monotonic()
            await asyncio.gather(*said, return_exceptions=True)
        await self._drained()
        window.drained_s, window.refused = time.monotonic() - begun, self._refused - refused

    async def _try(self, rate: float, seconds: float) -> Window:
        deadline = time.monotonic() + seconds
        async with self.at(rate) as window:
            while time.monotonic() < deadline and not window.lags:  # noqa: ASYNC110 - so long it is tried
                await asyncio.sleep(_TICK_S)
        return window

    async def _waiting(self) -> int:
        """Count the turns that were sent and are not considered yet."""
        sent = self._sent - self._refused
        async with self._log.connection() as connection:
            considered: int = await connection.fetchval(
                "select count(*) from sessions.turn where considered and subject_id <> $1", self._measured
            )
        return max(0, sent - considered)

    async def _watch(self, window: Window) -> None:
        while True:
            window.backlog.append(await self._waiting())
            await asyncio.sleep(_TICK_S)

    async def _drained(self) -> None:
        deadline = time.monotonic() + _GIVE_UP_S
        while waiting := await self._waiting():
            if time.monotonic() > deadline:
                raise CenotaphError(f"{waiting} background turns were not considered in {_GIVE_UP_S:.0f} s")
            await asyncio.sleep(_TICK_S / 2)

    async def _send(self, rate: float, said: set[asyncio.Task[None]]) -> None:
        begun, number = time.monotonic(), 0
        while True:
            number += 1
            task = asyncio.create_task(self._say())
            said.add(task)
            task.add_done_callback(said.discard)
            await asyncio.sleep(max(0.0, begun + number / rate - time.monotonic()))

    async def _say(self) -> None:
        self._sent += 1
        number = self._sent
        words = f"请记住：我喜欢{number}号茶。" if number % 2 else f"Please remember that I like tea number {number}."
        turn = Turn(
            f"load-{number}", "bench", datetime.now(UTC), [{"message_id": "m1", "role": "user", "content": words}]
        )
        try:
            await self._people[number % _PEOPLE].finalize(turn)
        except DoorError:
            self._refused += 1


def _mean(backlog: Sequence[int]) -> float:
    return fmean(backlog) if backlog else 0.0
