"""Running parts of the system in one process until it is told to stop."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from typing import Self

import uvicorn

from events.errors import CenotaphError
from ops.composition import Composition
from services.api.app import create_app
from services.api.server import server_config
from workers.delivery import Route

_CANCEL_S = 1.0
ALL_WORKERS = ("seal", "project", "ingest", "remember", "erase", "upkeep", "roll")


class Running:
    """Workers and, if asked for, the door, as tasks of one event loop.

    Args:
        composition: where the parts come from.
        workers: which workers to run.
        door: whether to serve HTTP.
    """

    def __init__(self, composition: Composition, workers: Iterable[str], *, door: bool) -> None:
        self._composition = composition
        self._workers = tuple(workers)
        self._door = door
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self.port: int | None = None

    async def __aenter__(self) -> Self:
        """Start everything; the door answers when this returns.

        Raises:
            CenotaphError: an unknown worker, or the port is taken.
        """
        known = self._composition.workers()
        if unknown := set(self._workers) - known.keys():
            raise CenotaphError(f"no such worker: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
        try:
            self._stack.push_async_callback(self._composition.close)
            loops: list[Callable[[], Awaitable[None]]] = []
            routes: list[Route] = []
            for name in self._workers:
                own_loops, own_routes = known[name]
                loops += own_loops
                routes += [route() for route in own_routes]
            for number, loop in enumerate(loops):
                self._spawn(loop, f"worker-{number}")
            if routes:
                delivery = self._composition.delivery(*routes)
                await delivery.start()
                self._stack.push_async_callback(delivery.stop)
            if self._door:
                await self._serve()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    def check(self) -> None:
        """Raise the error of a part that ended although nobody stopped it.

        Raises:
            CenotaphError: it ended without one.
        """
        for task in self._tasks:
            if task.done():
                task.result()
                raise CenotaphError(f"{task.get_name()} ended by itself")

    async def __aexit__(self, *_: object) -> None:
        """Stop everything, the door first."""
        await self._stack.aclose()

    def _spawn(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        task = asyncio.ensure_future(work())
        task.set_name(name)
        self._tasks.append(task)

        async def cancel() -> None:
            # asyncio.wait_for of Python 3.11 loses a cancellation that comes as its work ends, so once is not enough
            while not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=_CANCEL_S)
            if not task.cancelled():
                task.result()

        self._stack.push_async_callback(cancel)

    async def _serve(self) -> None:
        composition, settings = self._composition, self._composition.settings
        app = create_app(composition.backend, composition.tokens, composition.limits, registry=composition.counters)
        await composition.embedder.embed_query("warm up")
        listening = _listen(settings.host, settings.port)
        self.port = listening.getsockname()[1]
        server = _Server(server_config(app, host=settings.host, port=settings.port))
        task = asyncio.create_task(server.serve(sockets=[listening]), name="door")
        self._tasks.append(task)
        while not server.started:
            self.check()
            await asyncio.sleep(0.01)

        async def stop() -> None:
            server.should_exit = True
            await task

        self._stack.push_async_callback(stop)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError:
        raise CenotaphError(f"port {port} on {host} cannot be used; set CENOTAPH_PORT to another one") from None
    # asyncio sets this only where the socket names its protocol; without it every answer waits 40 ms for an ACK
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class _Server(uvicorn.Server):
    """Uvicorn without its signal handlers: the process that runs everything decides when to stop."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()
