"""Other event stores on Postgres under the same load, where they are installed. None of them is a dependency.

How to install them: ops/bench/README.md. They are imported by name, so that nothing here needs them to be checked.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, cast
from urllib.parse import unquote
from uuid import UUID, uuid4

from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from ops.bench.append.contender import Contender, Ledger
from ops.bench.places import Places

_PAYLOAD = "x" * 200
_READ = 500
_POLL_S = 0.01


class EventSourcing:
    """`eventsourcing` (PyPI): its application recorder, which promises a global order of notifications.

    Args:
        places: where it gets its database.
        functions: `enable_db_functions`, its faster path.
    """

    def __init__(self, places: Places, *, functions: bool) -> None:
        self.name = "eventsourcing_db_functions" if functions else "eventsourcing"
        self._places = places
        self._functions = functions
        self._next = 1

    async def create(self) -> None:
        """Make its table."""
        self._url = make_url(await self._places.bare(self.name))
        self._stored = cast("Any", import_module("eventsourcing.persistence")).StoredEvent
        datastore = self._datastore(1)
        await asyncio.to_thread(self._recorder_of(datastore).create_table)
        await asyncio.to_thread(datastore.close)

    @asynccontextmanager
    async def at_work(self, writers: int) -> AsyncIterator[None]:
        """Hold a connection for each writer and for the reader."""
        datastore = self._datastore(writers + 1)
        self._recorder = self._recorder_of(datastore)
        with ThreadPoolExecutor(writers + 1) as self._threads:
            yield
        await asyncio.to_thread(datastore.close)

    def _datastore(self, size: int) -> Any:  # noqa: ANN401 - the peer is not installed where this is checked
        url = self._url
        return cast("Any", import_module("eventsourcing.postgres")).PostgresDatastore(
            url.database,
            url.host or unquote(str(url.query["host"])),
            url.port or url.query.get("port", 5432),
            url.username,
            url.password or "",
            pool_size=size,
            max_overflow=2,
            enable_db_functions=self._functions,
        )

    def _recorder_of(self, datastore: Any) -> Any:  # noqa: ANN401 - as above
        postgres = cast("Any", import_module("eventsourcing.postgres"))
        return postgres.PostgresApplicationRecorder(datastore, events_table_name="bench")

    async def write(self, writer: int, batch: int, ledger: Ledger) -> None:
        """Append from a thread of its own, each append to a new aggregate."""
        del writer
        await asyncio.get_running_loop().run_in_executor(self._threads, self._write, batch, ledger)

    def _write(self, batch: int, ledger: Ledger) -> None:
        state = _PAYLOAD.encode()
        while ledger.more():
            begun = time.perf_counter()
            aggregate = uuid4()
            events = [self._stored(aggregate, number, "bench:Event", state) for number in range(1, batch + 1)]
            self._recorder.insert_events(events)
            ledger.note(begun, [_id(aggregate, number) for number in range(1, batch + 1)])

    async def read(self) -> list[UUID]:
        """Read the notification log behind the last read."""
        page = await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: self._recorder.select_notifications(start=self._next, limit=_READ)
        )
        if not page:
            await asyncio.sleep(_POLL_S)
            return []
        self._next = page[-1].id + 1
        return [_id(each.originator_id, each.originator_version) for each in page]


class EventSourcePy:
    """`eventsource-py` (PyPI): SQLAlchemy and asyncpg, with a transaction-id horizon for its global feed."""

    name = "eventsource_py"

    def __init__(self, places: Places) -> None:
        self._places = places
        self._position: object | None = None

    async def create(self) -> None:
        """Make its schema."""
        self._api = cast("Any", import_module("eventsource"))
        self._url = make_url(await self._places.bare(self.name)).set(drivername="postgresql+asyncpg")
        self._event = type("BenchEvent", (self._api.DomainEvent,), {"__annotations__": {"words": str}})
        self._registry = self._api.EventRegistry()
        self._registry.register(self._event, "BenchEvent")
        async with self.at_work(1):
            await self._store.current_position()

    @asynccontextmanager
    async def at_work(self, writers: int) -> AsyncIterator[None]:
        """Hold a connection for each writer and for the reader."""
        engine = create_async_engine(self._url, pool_size=writers + 1, max_overflow=2)
        self._store = self._api.PostgreSQLEventStore(engine, self._registry, create_schema=True)
        try:
            yield
        finally:
            await engine.dispose()

    async def write(self, writer: int, batch: int, ledger: Ledger) -> None:
        """Append as one of many tasks, each append to a new stream."""
        del writer
        while ledger.more():
            begun = time.perf_counter()
            aggregate = uuid4()
            events = [
                self._event(aggregate_id=aggregate, aggregate_type="Bench", aggregate_version=number, words=_PAYLOAD)
                for number in range(1, batch + 1)
            ]
            stream = self._api.StreamId(category="Bench", aggregate_id=aggregate)
            await self._store.append(stream, events, self._api.ExpectedVersion.no_stream())
            ledger.note(begun, [event.event_id for event in events])

    async def read(self) -> list[UUID]:
        """Read its global feed behind the last read."""
        options = self._api.FeedReadOptions(limit=_READ)
        page = [each async for each in self._store.read_all(self._position, options)]
        if not page:
            await asyncio.sleep(_POLL_S)
            return []
        self._position = page[-1].position
        return [each.event.event_id for each in page]


def _id(aggregate: UUID, number: int) -> UUID:
    """Name an event that has no id of its own."""
    return UUID(int=aggregate.int ^ number)


_PEERS: dict[str, tuple[str, str, Callable[[Places], Contender]]] = {
    "eventsourcing": ("eventsourcing.postgres", "eventsourcing", lambda places: EventSourcing(places, functions=False)),
    "eventsourcing_db_functions": (
        "eventsourcing.postgres",
        "eventsourcing",
        lambda places: EventSourcing(places, functions=True),
    ),
    "eventsource_py": ("eventsource", "eventsource-py", EventSourcePy),
}


def installed() -> dict[str, str | None]:
    """Return the version of each peer's distribution, None for one that is absent."""
    return {name: _version(module, distribution) for name, (module, distribution, _) in _PEERS.items()}


def peer(name: str, places: Places) -> Contender:
    """Make a peer that is installed."""
    return _PEERS[name][2](places)


def _version(module: str, distribution: str) -> str | None:
    drivers = ("psycopg", "psycopg_pool") if distribution == "eventsourcing" else ("asyncpg",)
    if any(find_spec(name) is None for name in (module.partition(".")[0], *drivers)):
        return None
    return version(distribution)
