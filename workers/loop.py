"""Work that never ends: one step after the other, patient with stores that are away."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger(__name__)

_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0


async def forever(name: str, step: Callable[[], Awaitable[int]], idle: Callable[[], Awaitable[None]]) -> None:
    """Repeat a step until cancelled; after one that did nothing wait until there may be something.

    A step that fails is logged by the type of its error and repeated after a growing pause.
    """
    pause = _FIRST_PAUSE_S
    while True:
        try:
            done = await step()
        except Exception as error:  # noqa: BLE001 - a loop outlives whatever its stores do
            log.warning("step_failed", worker=name, error=type(error).__name__)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)
            continue
        pause = _FIRST_PAUSE_S
        if not done:
            await idle()
