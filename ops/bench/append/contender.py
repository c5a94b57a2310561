"""One slice of a run: writers append as fast as they are answered while a reader follows the tail."""

import asyncio
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from ops.bench.memory_use import tree
from ops.bench.times import milliseconds, percentile

_WARM_UP = 10  # appends a writer
_LOST_AFTER_S = 2.0  # nothing new for so long after the last write: what was not seen is lost to this reader
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Shape:
    """How a slice writes: `writers` at once, `batch` events an append, `events` in all, at most `seconds`."""

    writers: int
    batch: int
    events: int
    seconds: float = 20.0


@dataclass
class Ledger:
    """When each event was acknowledged and when the tail reader saw it, on one clock."""

    turns: Iterator[int]
    deadline: float
    latencies: list[float] = field(default_factory=list)
    acknowledged: dict[UUID, float] = field(default_factory=dict)
    seen: dict[UUID, float] = field(default_factory=dict)
    repeated: int = 0

    def more(self) -> bool:
        """Take one append from the budget; safe between threads, as `next` of a counter is."""
        return next(self.turns, None) is not None and time.perf_counter() < self.deadline

    def note(self, begun: float, events: Sequence[UUID]) -> None:
        """Note an acknowledged append."""
        now = time.perf_counter()
        self.latencies.append(now - begun)
        self.acknowledged.update(dict.fromkeys(events, now))

    def saw(self, events: Sequence[UUID]) -> None:
        """Note what the tail reader read."""
        now = time.perf_counter()
        for event in events:
            if event in self.seen:
                self.repeated += 1
            else:
                self.seen[event] = now


class Contender(Protocol):
    """An event store under the same load as the others."""

    @property
    def name(self) -> str:
        """Name it in the report."""

    async def create(self) -> None:
        """Make its database."""

    def at_work(self, writers: int) -> AbstractAsyncContextManager[None]:
        """Hold its connections and run its background work for one slice: while others are measured it rests."""

    async def write(self, writer: int, batch: int, ledger: Ledger) -> None:
        """Append as one writer while the ledger gives turns, each append durable before the next."""

    async def read(self) -> list[UUID]:
        """Read what the tail holds behind the last read, waiting a moment if there is nothing."""


@dataclass(frozen=True)
class Slice:
    """What one slice came to. Times in seconds, rates in events a second, processor use in cores."""

    rate: float
    seen_rate: float
    appended: int
    seen: int
    repeated: int
    latencies: tuple[float, ...]
    lags: tuple[float, ...]
    client_cores: float
    server_cores: float


async def run(contender: Contender, shape: Shape) -> Slice:
    """Run one slice, after a short one that is not counted."""
    async with contender.at_work(shape.writers):
        await _run(contender, Shape(shape.writers, shape.batch, shape.writers * shape.batch * _WARM_UP, 1.0))
        return await _run(contender, shape)


async def _run(contender: Contender, shape: Shape) -> Slice:
    """Let writers and reader work, and wait until the reader has seen everything, or will not."""
    turns = range(-(-shape.events // shape.batch))
    ledger = Ledger(iter(turns), time.perf_counter() + shape.seconds)
    written = asyncio.Event()
    client, servers = time.process_time(), _children_s()
    begun = time.perf_counter()
    following = asyncio.create_task(_follow(contender, ledger, written))
    await asyncio.gather(*(contender.write(writer, shape.batch, ledger) for writer in range(shape.writers)))
    ended = time.perf_counter()
    client, servers = time.process_time() - client, _children_s() - servers
    written.set()
    await following
    took, acknowledged = ended - begun, ledger.acknowledged
    seen = acknowledged.keys() & ledger.seen.keys()
    until = max((ledger.seen[event] for event in seen), default=ended)
    return Slice(
        rate=len(acknowledged) / took,
        seen_rate=len(seen) / (until - begun),
        appended=len(acknowledged),
        seen=len(seen),
        repeated=ledger.repeated,
        latencies=tuple(ledger.latencies),
        lags=tuple(max(0.0, ledger.seen[event] - acknowledged[event]) for event in seen),
        client_cores=client / took,
        server_cores=servers / took,
    )


async def _follow(contender: Contender, ledger: Ledger, written: asyncio.Event) -> None:
    moved = time.perf_counter()
    while True:
        events = await contender.read()
        ledger.saw(events)
        if events or not written.is_set():
            moved = time.perf_counter()
        elif ledger.acknowledged.keys() <= ledger.seen.keys() or time.perf_counter() - moved > _LOST_AFTER_S:
            return


def _children_s() -> float:
    """Return the processor seconds of all processes below this one; 0 for servers that run elsewhere."""
    return sum(_processor_s(pid) for pid in tree(os.getpid())[1:])


def _processor_s(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:  # noqa: PTH123 - read many times
            fields = stat.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def summary(slices: Sequence[Slice]) -> dict[str, object]:
    """Sum the slices of one contender up: median rates over the slices, percentiles over every append and event."""
    latencies = sorted(itertools.chain.from_iterable(each.latencies for each in slices))
    lags = sorted(itertools.chain.from_iterable(each.lags for each in slices)) or [0.0]
    return {
        "events_per_s": round(median([each.rate for each in slices])),
        "seen_per_s": round(median([each.seen_rate for each in slices])),
        "appended": sum(each.appended for each in slices),
        "seen": sum(each.seen for each in slices),
        "seen_twice": sum(each.repeated for each in slices),
        "p50_ms": milliseconds(percentile(latencies, 50), 2),
        "p99_ms": milliseconds(percentile(latencies, 99), 2),
        "tail_lag_p50_ms": milliseconds(percentile(lags, 50), 2),
        "tail_lag_p99_ms": milliseconds(percentile(lags, 99), 2),
        "client_cores": round(median([each.client_cores for each in slices]), 2),
        "server_cores": round(median([each.server_cores for each in slices]), 2),
    }


def median(values: Sequence[float]) -> float:
    """Return the middle value, of an even number the lower one."""
    return percentile(sorted(values), 50)
