"""One connection to Milvus, a Lite server on a unix socket or a cluster, and the locks its engine lacks.

pymilvus's AsyncMilvusClient is marked experimental and cannot create an index on Milvus Lite (which lacks
AllocTimestamp). So the blocking client is used in threads: one for everything that writes, since Lite does not lock its
writers, and a few for searches.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition, Lock
from typing import Final, TypeVar

from events.errors import UnavailableError
from projections.milvus_client import NO_ANSWER, MilvusClient, MilvusException, code_of, connect

READERS: Final = 4  # as many as a Lite host has workers
TIMEOUT_S: Final = 30.0
ANSWER_S: Final = 3.0
NOT_LOADED: Final = 101

T = TypeVar("T")


class Milvus:
    """A connection, opened at first use, that finds its way back after the server was restarted."""

    def __init__(self, uri: str, token: str = "", answer_s: float = ANSWER_S) -> None:
        """Remember where the server is.

        Args:
            uri: `unix:/path/to.sock` for Milvus Lite, `http(s)://host:port` for a cluster.
            token: a cluster's `user:password` or API key.
            answer_s: how long a reader waits; somebody waits behind it, unlike behind a writer.
        """
        self.is_lite = uri.startswith("unix:")
        self.answer_s = answer_s
        self._uri, self._token = uri, token
        self._client: MilvusClient | None = None
        self._connecting = Lock()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="milvus-write")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="milvus-read")

    async def read(self, work: Callable[[], T]) -> T:
        """Run reading work in a thread.

        Raises:
            UnavailableError: There is no answer in time, be it that every thread waits for one.
        """
        try:
            async with asyncio.timeout(self.answer_s):
                return await self._run(self._readers, work)
        except TimeoutError:
            raise UnavailableError(f"the vector index does not answer within {self.answer_s:g} s") from None

    async def write(self, work: Callable[[], T]) -> T:
        """Run writing work after all writing work before it, to its end even if the caller is cancelled."""
        return await self._run(self._writer, work)

    def call(self, collection: str, ask: Callable[[MilvusClient], T]) -> T:
        """Ask the server, in a thread of `read` or `write`; loads the collection again after a restart of the server.

        Raises:
            UnavailableError: The server does not answer, or refuses.
        """
        try:
            try:
                return ask(self._connected())
            except MilvusException as error:
                if error.code != NOT_LOADED:
                    raise
                self._connected().load_collection(collection, timeout=TIMEOUT_S)
                return ask(self._connected())
        except NO_ANSWER as error:
            raise UnavailableError(f"the vector index {collection} does not answer (code {code_of(error)})") from None

    async def close(self) -> None:
        """Finish the work under way and hang up."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._writer.shutdown()
        self._readers.shutdown()
        if self._client is not None:
            self._client.close()

    def _connected(self) -> MilvusClient:
        with self._connecting:
            if self._client is None:
                self._client = connect(self._uri, self._token, TIMEOUT_S)
            return self._client

    @staticmethod
    async def _run(threads: Executor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, work)


class Gate:
    """Lets searches in together, a flush alone: while it flushes, Lite misses rows and returns deleted ones."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside = 0
        self._closed = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Pass unless a flush is under way or waiting."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Close the gate, wait until nobody is inside, and open it afterwards. For one thread at a time."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
