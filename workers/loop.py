"""Work that never ends: one step after the other, patient with stores that are away."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger(__name__)

_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0


class Pause:
    """How long to wait for what is away: twice as long each time, until it is back."""

    def __init__(self) -> None:
        self._seconds = _FIRST_PAUSE_S

    def next(self) -> float:
        """Return how many seconds to wait now."""
        seconds, self._seconds = self._seconds, min(self._seconds * 2, _LONGEST_PAUSE_S)
        return seconds

    def over(self) -> None:
        """Begin with the shortest again."""
        self._seconds = _FIRST_PAUSE_S


async def forever(name: str, step: Callable[[], Awaitable[int]], idle: Callable[[], Awaitable[None]]) -> None:
    """Repeat a step until cancelled; after one that did nothing wait until there may be something.

    A step that fails is logged by the type of its error and repeated after a growing pause.
    """
    pause = Pause()
    while True:
        try:
            done = await step()
        except Exception as error:  # noqa: BLE001 - a loop outlives whatever its stores do
            log.warning("step_failed", worker=name, error=type(error).__name__)
            await asyncio.sleep(pause.next())
            continue
        pause.over()
        if not done:
            await idle()
