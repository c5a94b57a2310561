"""The erasing worker: finishes tombstones as their jobs come, and asks the log for those that are still pending."""

import asyncio
from functools import partial

from events.log import Tail
from services.forgetting.finisher import Finisher
from services.forgetting.letters import DeadLetters, Parked
from services.forgetting.where import CHANNEL, Locator
from workers.delivery import Fields, Route
from workers.jobs import ERASE, job_of, park_job, position_of
from workers.loop import forever

_PENDING_EVERY_S = 1.0


class EraseJobs:
    """Takes jobs off the stream `erase`; they hold a position only."""

    def __init__(self, finisher: Finisher, letters: DeadLetters) -> None:
        self._finisher = finisher
        self._letters = letters

    def route(self, concurrency: int = 4) -> Route:
        """Describe the stream to the delivery."""
        return Route(ERASE, self.take, partial(park_job, self._letters), concurrency)

    async def take(self, fields: Fields, entry_id: str) -> None:
        """Carry one erasure as far as it goes; what stays pending is tried again from the log."""
        del entry_id
        await self._finisher.finish(position_of(fields))

    async def replay(self, letter: Parked, text: str | None) -> None:
        """Carry the erasure of a parked job on."""
        del text
        await self.take(job_of(letter), letter.entry_id)

    async def drop(self, letter: Parked) -> None:
        """Do nothing: the erasure itself is in the log and is tried again from there."""


async def locate(locator: Locator, url: str) -> None:
    """Answer where memories are until cancelled.

    Args:
        locator: asks every layer.
        url: the log's database, where questions are announced.
    """
    tail = Tail(url, channel=CHANNEL)
    try:
        await forever("locate", locator.step, tail.wait)
    finally:
        await tail.close()


async def resume(finisher: Finisher) -> None:
    """Try pending erasures again until cancelled; works without Redis."""

    async def step() -> int:
        for position in await finisher.pending():
            await finisher.finish(position)
        return 0

    await forever("resume", step, lambda: asyncio.sleep(_PENDING_EVERY_S))
