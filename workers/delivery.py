"""At-least-once delivery over Redis streams: what FastStream leaves to its user.

FastStream neither redelivers, nor caps, nor dead-letters, nor survives the loss of a group. Here every stream has one
reader and one reclaimer on the same handler, a janitor that parks what was delivered too often, and a watch that brings
a stopped subscriber back. Handlers are idempotent, so delivering twice is harmless.

A store that is away is not the entry's fault: such a delivery does not count, and the stream is held up for a while.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypedDict, cast

import redis.asyncio as redis
import structlog
from faststream import AckPolicy
from faststream.redis import RedisBroker, RedisStreamMessage, StreamSub
from redis.exceptions import RedisError, ResponseError

from events.errors import UnavailableError
from workers.loop import Pause

log = structlog.get_logger(__name__)

Fields = Mapping[str, str]
Work = Callable[[Fields, str], Awaitable[None]]
"""Handles an entry: its fields and its id."""
Park = Callable[["Letter"], Awaitable[None]]

# FastStream would log every failure with a traceback, which may hold content; the handler logs the error's type itself
_SILENT = logging.getLogger("cenotaph.faststream")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False

_AWAY = (UnavailableError, RedisError, OSError)
_POLL_MS = 200
_WATCH_S = 1.0


class Pending(TypedDict):
    """What XPENDING says of an entry."""

    message_id: bytes
    consumer: bytes
    times_delivered: int


@dataclass(frozen=True, slots=True)
class Letter:
    """An entry that was delivered too often, on its way to the dead letters."""

    stream: str
    entry_id: str
    fields: Fields
    deliveries: int
    reason: str


@dataclass(frozen=True, slots=True)
class Route:
    """A stream and what is done with its entries.

    `concurrency` bounds how many entries of one process are worked on at once.
    """

    stream: str
    work: Work
    park: Park
    concurrency: int = 1


class Delivery:
    """Runs routes on one Redis.

    Args:
        url: where Redis is.
        routes: what to consume.
        cap: after how many deliveries an entry is parked.
        reclaim_idle_ms: how long an entry may stay unacknowledged before somebody else takes it; longer than any work.
    """

    def __init__(self, url: str, routes: tuple[Route, ...], cap: int, reclaim_idle_ms: int) -> None:
        self._routes = routes
        self._cap = cap
        self._idle_ms = reclaim_idle_ms
        # longer than the janitor waits, so that a poisoned entry is parked before it is tried again
        self._reclaim_ms = reclaim_idle_ms * 3 // 2
        self._client = redis.from_url(url)
        self._broker = RedisBroker(url, logger=_SILENT, graceful_timeout=10.0)
        self._failures: dict[str, str] = {}
        self._pauses = {route.stream: Pause() for route in routes}
        self._stopping = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None
        consumer = f"{socket.gethostname()}-{os.getpid()}"
        for route in routes:
            handler = self._handler(route)
            reader = StreamSub(
                route.stream,
                group=route.stream,
                consumer=consumer,
                max_records=16,
                polling_interval=_POLL_MS,
            )
            reclaimer = StreamSub(
                route.stream,
                group=route.stream,
                consumer=f"{consumer}-reclaim",
                min_idle_time=self._reclaim_ms,
                polling_interval=min(self._idle_ms, 1000),
            )
            for subscription, workers in ((reader, route.concurrency), (reclaimer, 1)):
                self._broker.subscriber(
                    stream=subscription, parser=_unread, ack_policy=AckPolicy.NACK_ON_ERROR, max_workers=workers
                )(handler)

    async def start(self) -> None:
        """Make the groups, park what is poisoned, start consuming."""
        await self._groups()
        await self._park_poisoned()
        await self._broker.start()
        self._watcher = asyncio.create_task(self._watch(), name="delivery-watch")

    async def stop(self) -> None:
        """Finish what is being worked on and stop; the rest stays pending and is taken over by the next consumer."""
        self._stopping.set()
        if self._watcher is not None:
            self._watcher.cancel()
            with suppress(asyncio.CancelledError):
                await self._watcher
        await self._broker.stop()
        await self._client.aclose()

    @property
    def running(self) -> bool:
        """Say whether every subscriber consumes."""
        return all(subscriber.running for subscriber in self._broker.subscribers)

    def _handler(self, route: Route) -> Callable[[RedisStreamMessage], Awaitable[None]]:
        async def handle(message: RedisStreamMessage) -> None:
            raw = cast("dict[str, Any]", message.raw_message)
            entry_id = raw["message_ids"][0].decode()
            try:
                await route.work(_decode(raw["data"]), entry_id)
            except _AWAY as error:
                log.warning("delivery_postponed", stream=route.stream, entry=entry_id, error=type(error).__name__)
                await self._postpone(route, entry_id)
                raise
            except Exception as error:
                self._failures[entry_id] = type(error).__name__
                log.warning("delivery_failed", stream=route.stream, entry=entry_id, error=type(error).__name__)
                raise
            self._failures.pop(entry_id, None)
            self._pauses[route.stream].over()
            # deleted before FastStream acknowledges it: nothing handed over stays in Redis
            await self._client.xdel(route.stream, entry_id)

        return handle

    async def _postpone(self, route: Route, entry_id: str) -> None:
        """Take a delivery out of the count, then hold its place so that no other entry meets the same outage."""
        seconds = self._pauses[route.stream].next()
        try:
            for entry in await self._pending(route, entry_id, entry_id, 1):
                await self._client.xclaim(
                    route.stream,
                    route.stream,
                    entry["consumer"].decode(),
                    min_idle_time=0,
                    message_ids=[entry_id],
                    idle=max(0, self._reclaim_ms - int(seconds * 1000)),  # reclaimed when the pause is over
                    retrycount=max(0, entry["times_delivered"] - 1),
                    justid=True,
                )
        except (RedisError, OSError) as error:
            log.warning("redis_unavailable", error=type(error).__name__)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _pending(self, route: Route, first: str, last: str, count: int, idle_ms: int = 0) -> "list[Pending]":
        return cast(
            "list[Pending]",
            await self._client.xpending_range(
                route.stream, route.stream, min=first, max=last, count=count, idle=idle_ms or None
            ),
        )

    async def _groups(self) -> None:
        for route in self._routes:
            await ensure_group(self._client, route.stream)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(min(_WATCH_S, self._idle_ms / 4000))
            try:
                if not self.running:
                    await self._groups()
                    for subscriber in self._broker.subscribers:
                        if not subscriber.running:
                            log.warning("subscriber_restarted")
                            await subscriber.stop()
                            await subscriber.start()
                await self._park_poisoned()
            except (RedisError, OSError) as error:
                log.warning("redis_unavailable", error=type(error).__name__)
            except Exception as error:  # noqa: BLE001 - the watch outlives whatever parking meets, and tries again
                log.error("delivery_watch_failed", error=type(error).__name__)  # noqa: TRY400 - no content in tracebacks

    async def _park_poisoned(self) -> None:
        for route in self._routes:
            for entry in await self._pending(route, "-", "+", 100, self._idle_ms):
                if entry["times_delivered"] >= self._cap:
                    await self._try_to_park(route, entry["message_id"].decode(), entry["times_delivered"])

    async def _try_to_park(self, route: Route, entry_id: str, deliveries: int) -> None:
        """Park an entry; one that finds no place stays pending, is tried again, and holds up no other."""
        try:
            await self._park(route, entry_id, deliveries)
        except (RedisError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever parking meets
            log.error("not_parked", stream=route.stream, entry=entry_id, error=type(error).__name__)  # noqa: TRY400 - no content in tracebacks

    async def _park(self, route: Route, entry_id: str, deliveries: int) -> None:
        entries = cast(
            "list[tuple[bytes, dict[bytes, bytes]]]",
            await self._client.xrange(route.stream, min=entry_id, max=entry_id),
        )
        reason = self._failures.get(entry_id, "worker_died_or_entry_unreadable")
        if entries:
            await route.park(Letter(route.stream, entry_id, _decode(entries[0][1]), deliveries, reason))
            log.error("dead_letter", stream=route.stream, entry=entry_id, deliveries=deliveries, reason=reason)
        self._failures.pop(entry_id, None)
        await self._client.xack(route.stream, route.stream, entry_id)
        await self._client.xdel(route.stream, entry_id)


async def ensure_group(client: "redis.Redis", stream: str) -> None:
    """Make the consumer group at the very first entry, so that nothing published before is skipped."""
    try:
        await client.xgroup_create(stream, stream, id="0", mkstream=True)
    except ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise


async def _unread(
    message: dict[str, Any], original: Callable[[dict[str, Any]], Awaitable[RedisStreamMessage]]
) -> RedisStreamMessage:
    """Keep FastStream from reading the fields, which fails before any handler where they are not UTF-8."""
    parsed = await original({**message, "data": {b"data": b"unread"}})
    parsed.raw_message = cast("Any", message)
    return parsed


def _decode(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    """Read an entry's fields; a byte that is not UTF-8 becomes a lone surrogate (PEP 383), for a check to refuse."""
    return {_text(name): _text(value) for name, value in fields.items()}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
