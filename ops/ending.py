"""How a process ends: the first signal asks it to, a second one or a limit of time makes it.

Whatever hangs (a thread in a driver's call, a store that does not answer) cannot keep it alive then. What is left is
what kill -9 leaves: nothing acknowledged is lost, and embedded servers end with their parent.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Final

LIMIT_S: Final = 50.0
"""How long stopping may take; `cenotaph down` waits a little longer."""


class Ending:
    """Takes SIGINT and SIGTERM of a process over.

    Handlers run between any two steps of the main thread, also where its event loop stands still.

    Args:
        limit_s: how long stopping may take after the first signal.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], object] = lambda: None
        self.asked = False

    def take_over(self) -> None:
        """Answer the signals from now on; call from the main thread."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._signalled)

    def by(self, stop: Callable[[], object]) -> None:
        """Say what asks the running event loop to stop; called at once where a signal has come already."""
        self._loop, self._stop = asyncio.get_running_loop(), stop
        if self.asked:
            stop()

    async def wait(self, check: Callable[[], None] | None = None, every_s: float = 1.0) -> None:
        """Wait until a signal asks the process to stop, running a check now and then."""
        stopped = asyncio.Event()
        self.by(stopped.set)
        while not stopped.is_set():
            if check is not None:
                check()
            with suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), every_s)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.asked:
            self._end("told twice to stop")
        self.asked = True
        limit = threading.Timer(self._limit_s, self._end, (f"did not stop within {self._limit_s:g} s",))
        limit.daemon = True
        limit.start()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop)

    def _end(self, why: str) -> None:
        threads = [each.name for each in threading.enumerate() if not each.daemon and each.name != "MainThread"]
        working = ", ".join(sorted({*threads, *self._tasks()})) or "the main thread"
        line = f"cenotaph: {why}, and ends as if killed; still at work: {working}; nothing acknowledged is lost\n"
        os.write(2, line.encode())
        os._exit(1)

    def _tasks(self) -> set[str]:
        if self._loop is None or self._loop.is_closed():
            return set()
        return {task.get_name() for task in asyncio.all_tasks(self._loop) if not task.done()}
