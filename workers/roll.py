"""The rolling worker: keys change at their time, and as soon as it runs again where it missed one."""

import asyncio
from datetime import UTC, datetime

import structlog

from events.errors import SecretError
from events.roll import Roller
from events.schedule import Schedule
from workers.loop import forever

_LONGEST_S = 60.0  # a machine that slept notices
log = structlog.get_logger(__name__)


async def roll(roller: Roller, schedule: Schedule) -> None:
    """Roll the keys at each time of a schedule, until cancelled."""

    async def step() -> int:
        try:
            await roller.roll(schedule.latest(datetime.now(UTC)))
        except SecretError as error:  # says which file, and what to do
            log.error("keys_not_rolled", reason=str(error))  # noqa: TRY400 - the message is for the operator, no trace is
        return 0

    async def until_next() -> None:
        now = datetime.now(UTC)
        await asyncio.sleep(min((schedule.after(now) - now).total_seconds(), _LONGEST_S))

    await forever("roll", step, until_next)
