"""The remembering worker: considers turns by their position, and sweeps up those whose job was lost."""

import asyncio

from events import failpoint
from events.model import Position
from events.postgres import Database
from projections.sessions import waiting
from services.forgetting.letters import DeadLetters, Parked
from services.remembering.remember import Rememberer
from services.summaries.summaries import Summaries
from workers.delivery import Fields, Letter, Route
from workers.jobs import REMEMBER, Jobs, job_of, park_job, position_of
from workers.loop import forever

_BATCH = 500


class RememberJobs:
    """Takes jobs off the stream `remember`; they hold a position only."""

    def __init__(self, rememberer: Rememberer, letters: DeadLetters, summaries: Summaries) -> None:
        self._rememberer = rememberer
        self._letters = letters
        self._summaries = summaries

    def route(self, concurrency: int) -> Route:
        """Describe the stream to the delivery."""
        return Route(REMEMBER, self.take, self.park, concurrency)

    async def take(self, fields: Fields, entry_id: str) -> None:
        """Consider one turn; its session gets a new summary where it has gone on for long enough."""
        del entry_id
        considered = await self._rememberer.consider(position_of(fields))
        failpoint.hit("remember.appended")
        if considered is not None:
            await self._summaries.refresh(considered.scope, considered.session_id)

    async def park(self, letter: Letter) -> None:
        """Keep reason and position; the turn stays open, unswept, until the letter is replayed or dropped.

        Its one `turn_considered` is not spent on a failure, so that a replay can still end it with its real outcome.
        """
        await park_job(self._letters, letter)

    async def replay(self, letter: Parked, text: str | None) -> None:
        """Consider the turn of a parked job."""
        del text
        await self.take(job_of(letter), letter.entry_id)

    async def drop(self, letter: Parked) -> None:
        """End the turn of a parked job for good, as one that could not be considered."""
        if letter.position is not None:
            await self._rememberer.give_up(Position(letter.position))


async def sweep(projector: Database, jobs: Jobs, after_s: float) -> None:
    """Queue turns anew that stayed without `turn_considered`, until cancelled.

    Args:
        projector: a pool under `cenotaph_projector`.
        jobs: where jobs are queued.
        after_s: how old a turn must be; longer than a turn usually takes.
    """

    async def step() -> int:
        async with projector.connection() as connection:
            positions = await waiting(connection, after_s, _BATCH)
        await jobs.queue(REMEMBER, [Position(position) for position in positions])
        return 0

    await forever("sweep", step, lambda: asyncio.sleep(after_s))
