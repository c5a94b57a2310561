"""Background turns at a steady rate, and the highest rate at which what waits does not grow."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from cenotaph.calls import Turn
from cenotaph.client import AsyncCenotaph
from events.postgres import Database

_PEOPLE = 20
FIRST = 1.0
"""The lowest rate that is tried, turns a second."""
_STEP = 1.5
_LAG_S = 2.0
_DRAIN_S = 60.0


def grows(rate: float, before: int, after: int) -> bool:
    """Say whether so many waiting turns are more than two seconds' worth at a rate, or a second's more than before."""
    return after / rate > _LAG_S or after > before + rate


class Load:
    """Turns of people who are not measured, sent whether or not the one before was answered.

    Args:
        door: where they go.
        key: the tenant's API key.
        log: the log's database, to see what waits.
    """

    def __init__(self, door: AsyncCenotaph, key: str, log: Database) -> None:
        self._people = [door.for_subject(key, f"load-{number}") for number in range(_PEOPLE)]
        self._log = log
        self._sent = 0

    async def highest(self, seconds: float) -> tuple[float | None, list[dict[str, float]]]:
        """Raise the rate until turns wait longer than two seconds, or ever longer; return the last that did not.

        Args:
            seconds: how long each rate is tried.
        """
        rate, flat, tried = FIRST, None, list[dict[str, float]]()
        while True:
            async with self.at(rate):
                await asyncio.sleep(seconds / 2)
                middle = await self.waiting()
                await asyncio.sleep(seconds / 2)
                end = await self.waiting()
            tried.append({"turns_per_s": round(rate, 2), "waiting_middle": middle, "waiting_end": end})
            await self._drained()
            if grows(rate, middle, end):
                return flat, tried
            flat, rate = rate, rate * _STEP

    @asynccontextmanager
    async def at(self, rate: float) -> AsyncIterator[None]:
        """Send so many turns a second for the length of a block."""
        sending = asyncio.create_task(self._send(rate))
        try:
            yield
        finally:
            sending.cancel()
            await asyncio.wait({sending})

    async def waiting(self) -> int:
        """Count the turns that are not considered yet."""
        async with self._log.connection() as connection:
            count: int = await connection.fetchval("select count(*) from sessions.turn where not considered")
        return count

    async def _drained(self) -> None:
        deadline = time.monotonic() + _DRAIN_S
        while await self.waiting() and time.monotonic() < deadline:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)

    async def _send(self, rate: float) -> None:
        begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(1_000_000):
                group.create_task(self._say())
                await asyncio.sleep(max(0.0, begun + (number + 1) / rate - time.monotonic()))

    async def _say(self) -> None:
        self._sent += 1
        number = self._sent
        words = f"请记住：我喜欢{number}号茶。" if number % 2 else f"Please remember that I like tea number {number}."
        turn = Turn(
            f"load-{number}", "bench", datetime.now(UTC), [{"message_id": "m1", "role": "user", "content": words}]
        )
        await self._people[number % _PEOPLE].finalize(turn)
