"""The remembering worker: considers turns by their position, and sweeps up those whose job was lost."""

import asyncio
from contextlib import suppress

from events import failpoint
from events.model import Position
from events.postgres import Database
from projections.sessions import waiting
from services.forgetting.letters import DeadLetters
from services.remembering.remember import Rememberer
from workers.delivery import Fields, Letter, Route
from workers.jobs import REMEMBER, Jobs, park_job, position_of
from workers.loop import forever

_BATCH = 500


class RememberJobs:
    """Takes jobs off the stream `remember`; they hold a position only."""

    def __init__(self, rememberer: Rememberer, letters: DeadLetters) -> None:
        self._rememberer = rememberer
        self._letters = letters

    def route(self, concurrency: int = 2) -> Route:
        """Describe the stream to the delivery."""
        return Route(REMEMBER, self.take, self.park, concurrency)

    async def take(self, fields: Fields, entry_id: str) -> None:
        """Consider one turn."""
        del entry_id
        await self._rememberer.consider(position_of(fields))
        failpoint.hit("remember.appended")

    async def park(self, letter: Letter) -> None:
        """Keep the reason and end the turn, or the sweeper would ask for it for ever."""
        await park_job(self._letters, letter)
        with suppress(KeyError, ValueError):  # an entry that names no position has no turn to end
            await self._rememberer.give_up(position_of(letter.fields))


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
