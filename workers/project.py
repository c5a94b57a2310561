"""The projecting worker: every read model follows the sealed tail, each at its own pace."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from events.envelope import StoredEvent
from events.log import Tail
from events.postgres import Connection
from projections.follower import Follower
from workers.jobs import Jobs
from workers.loop import forever

_RETIRE_S = 60


class Dispatch:
    """Queues a job for every event that asks for one, following the log as a read model does."""

    name: ClassVar[str] = "dispatch"
    version: ClassVar[int] = 1

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def create(self, connection: Connection, place: str) -> None:
        """Nothing is kept: streams come into being with their first entry."""

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Queue the jobs of a batch; a batch that is repeated queues them again, and handlers are idempotent."""
        del connection, place
        await self._jobs.dispatch(events)

    async def swap(self, connection: Connection, place: str, built: str) -> str:
        """Nothing is kept, so nothing is swapped."""
        del connection, built
        return place


async def project(followers: Sequence[Follower], url: str, retire: Callable[[], Awaitable[int]] | None = None) -> None:
    """Run all followers until cancelled.

    Args:
        followers: one for each read model.
        url: the log's database, for the notifications of the sealer.
        retire: drops an index that served before once its time is over.
    """
    async with asyncio.TaskGroup() as group:
        if retire is not None:
            group.create_task(forever("retire", retire, lambda: asyncio.sleep(_RETIRE_S)), name="project-retire")
        for follower in followers:
            group.create_task(_follow(follower, Tail(url)), name=f"project-{follower.projection.name}")


async def _follow(follower: Follower, tail: Tail) -> None:
    try:
        await forever(follower.projection.name, follower.step, tail.wait)
    finally:
        await tail.close()
