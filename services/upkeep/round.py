"""Rounds of upkeep: every job once, person by person, the tenants in turn."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import structlog

from events.errors import ErasedError
from events.model import Scope
from services.upkeep.job import Job, Plan, fair

log = structlog.get_logger(__name__)


class Round:
    """Some jobs, done one after the other.

    Args:
        jobs: in the order in which one prepares for the next.
    """

    def __init__(self, *jobs: Job) -> None:
        self.jobs: Sequence[Job] = jobs

    async def plans(self, now: datetime | None = None) -> AsyncIterator[Plan]:
        """Say what would happen now, and do nothing."""
        now = now or datetime.now(UTC)
        for job in self.jobs:
            for scope in fair(await job.due(now)):
                if (plan := await _plan(job, scope, now)) is not None:
                    yield plan

    async def run(self, now: datetime | None = None) -> AsyncIterator[Plan]:
        """Do one batch for each person who is due; yield what was done.

        Whoever is written to meanwhile, or has more than a batch, comes again in the next round.
        """
        now = now or datetime.now(UTC)
        for job in self.jobs:
            done = lost = 0
            for scope in fair(await job.due(now)):
                if (plan := await _plan(job, scope, now)) is None:
                    continue
                if await job.apply(plan, now):
                    done += 1
                    yield plan
                else:
                    lost += 1
            if done or lost:
                log.info("upkeep", job=job.name, persons=done, waiting=lost)

    async def step(self, now: datetime | None = None) -> int:
        """Do one round; return for how many persons something was done."""
        return len([plan async for plan in self.run(now)])


async def _plan(job: Job, scope: Scope, now: datetime) -> Plan | None:
    """Plan for one person; who was forgotten as a whole meanwhile has nothing to plan for."""
    try:
        return await job.plan(scope, now)
    except ErasedError:
        return None
