"""The comparing worker: now and then every read model is built anew beside the one that serves, and compared."""

import asyncio
import time
from datetime import UTC, datetime

import structlog

from events.postgres import Database
from services.replay.diff import Differ
from services.replay.standing import standings
from workers.loop import forever

log = structlog.get_logger(__name__)

_LONGEST_NAP_S = 60.0


class Comparison:
    """Compares when the last comparison, by whatever process, is old enough.

    Not at the start of a process, which has more urgent things to do then.

    Args:
        database: a pool that may read the read models' checkpoints.
        differ: what compares.
        every_s: how old the last comparison gets.
        settle_s: the least time before the first comparison, and before one that failed is repeated.
    """

    def __init__(self, database: Database, differ: Differ, every_s: float, settle_s: float = 600) -> None:
        self._database = database
        self._differ = differ
        self._every_s = every_s
        self._retry_s = min(every_s, settle_s)
        self._next = time.monotonic() + self._retry_s

    async def step(self) -> int:
        """Compare if it is time; return how many read models were compared."""
        if time.monotonic() < self._next:
            return 0
        self._next = time.monotonic() + self._retry_s  # one that fails is not repeated at once: it costs a whole log
        young = self._every_s - await self._age()
        if young > 0:
            self._next = time.monotonic() + young
            return 0
        compared = 0
        async for report in self._differ.run():
            compared += 1
            say = log.error if report.found else log.info
            say(
                "read_model_compared",
                model=report.model,
                position=report.position,
                compared=report.compared,
                missing=report.missing,
                extra=report.extra,
                differing=report.differing,
            )
        self._next = time.monotonic() + self._every_s
        return compared

    async def idle(self) -> None:
        """Wait until it may be time."""
        await asyncio.sleep(min(max(self._next - time.monotonic(), 0), _LONGEST_NAP_S))

    async def _age(self) -> float:
        """Return how old the oldest of the last comparisons is, in seconds."""
        async with self._database.connection() as connection:
            found = [each.compared_at for each in await standings(connection) if each.model in self._differ.names]
        if not found or None in found:
            return float("inf")
        return (datetime.now(UTC) - min(at for at in found if at is not None)).total_seconds()


async def compare(comparison: Comparison) -> None:
    """Compare now and then until cancelled."""
    await forever("compare", comparison.step, comparison.idle)
