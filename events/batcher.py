"""Group commit: concurrent calls are coalesced into few, and each caller gets the answer to its own."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar, cast

from events.errors import UnavailableError

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_CLOSED = "shutting down; repeat the command"


class Batcher(Generic[Item, Answer]):
    """Collects what is asked for while earlier calls are under way, and asks for all of it at once.

    A call that nobody waits for any more is left out as long as it has not been sent. Where one item spoils a batch,
    the batch is halved until that item is alone, so that it fails alone. An `UnavailableError` is the answer to every
    item of its batch: whether they were carried out is unknown.

    Args:
        settle: carries a batch out; returns one answer an item, in order. A batch it refuses must have had no effect.
        name: what its tasks are called.
        at_once: the most batches under way.
        batch: the most items of a batch.
        waiting: the most items that wait; whoever comes then waits for a place.
    """

    def __init__(
        self,
        settle: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]],
        name: str,
        *,
        at_once: int,
        batch: int,
        waiting: int = 10_000,
    ) -> None:
        self._settle = settle
        self._name = name
        self._at_once = at_once
        self._batch = batch
        self._places = asyncio.Semaphore(waiting)
        self._queue: deque[tuple[Item, asyncio.Future[Answer]]] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    async def ask(self, item: Item) -> Answer:
        """Have one item carried out together with others.

        Raises:
            UnavailableError: the store did not answer or this is closed; whether it was carried out is unknown.
        """
        async with self._places:
            if self._closed:
                raise UnavailableError(_CLOSED)
            future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._queue.append((item, future))
            if len(self._running) < self._at_once:
                task = asyncio.create_task(self._run(), name=self._name)
                self._running.add(task)
            return await future

    async def close(self) -> None:
        """Stop. What is under way or waits fails as unknown; so does whoever comes later."""
        self._closed = True
        running = list(self._running)
        for task in running:
            task.cancel()
        for task in running:
            with suppress(asyncio.CancelledError):
                await task
        _fail(self._take(len(self._queue)), UnavailableError(_CLOSED))

    def _take(self, most: int) -> list[tuple[Item, "asyncio.Future[Answer]"]]:
        """Take what waits, in order, without those that were given up."""
        taken: list[tuple[Item, asyncio.Future[Answer]]] = []
        while self._queue and len(taken) < most:
            item, future = self._queue.popleft()
            if not future.done():
                taken.append((item, future))
        return taken

    async def _run(self) -> None:
        """Carry batches out until nothing waits. Who asks after that gets another task, so this one leaves at once."""
        try:
            while taken := self._take(self._batch):
                try:
                    await self._carry_out(taken)
                except BaseException:
                    _fail(taken, UnavailableError(_CLOSED))
                    raise
        finally:
            self._running.remove(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _carry_out(self, taken: Sequence[tuple[Item, "asyncio.Future[Answer]"]]) -> None:
        try:
            answers = await self._settle([item for item, _ in taken])
        except UnavailableError as error:
            _fail(taken, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the item that causes it
            if len(taken) == 1:
                _fail(taken, error)
            else:
                half = len(taken) // 2
                await self._carry_out(taken[:half])
                await self._carry_out(taken[half:])
        else:
            for (_, future), answer in zip(taken, answers, strict=True):
                if not future.done():
                    future.set_result(answer)


def _fail(taken: Sequence[tuple[Item, "asyncio.Future[Answer]"]], error: Exception) -> None:
    for _, future in taken:
        if not future.done():
            future.set_exception(error)
