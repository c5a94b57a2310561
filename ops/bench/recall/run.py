"""`cenotaph bench recall`: fill, then measure recall as it is served, beside the raw index and a matrix in memory."""

import asyncio
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import numpy as np
import orjson
from prometheus_client import CollectorRegistry
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from events.errors import BadInputError, UnavailableError
from events.model import TenantId
from ops.bench.memory_use import PeakMemory, sizes
from ops.bench.places import durability
from ops.bench.recall.fill import fill
from ops.bench.recall.people import Person
from ops.bench.times import milliseconds, percentile
from ops.composition import Composition
from ops.embedded import Embedded
from ops.heap import settled
from ops.settings import Settings, load_settings
from projections.embedding import Vector
from projections.follower import place_of
from services.governance.policy import shipped_policy
from services.recall.blend import BLEND
from services.recall.cache import RecallCache
from services.recall.contexts import Contexts
from services.recall.opening import Wanted
from services.recall.recall import Recall
from services.wire.recall import ContextRequest, RecallRole

_ASKED: Final = 150  # questions of a way at each concurrency
_WARM: Final = 20
_ROUND: Final = 25  # questions of a way before the next one's turn
_ASKERS: Final = (1, 16)
_HOUR_S: Final = 3600
_OPEN_S: Final = 1200  # Milvus Lite reads a million vectors again in minutes
_NOTE: Final = "filled.json"
_BEST: Final = Wanted(8, lambda fact, body: True)  # noqa: ARG005 - whatever it is, as many as a context holds


@dataclass(frozen=True)
class Asked:
    """A question to one person's memory, and its vector."""

    person: Person
    text: str
    vector: Vector


async def measure(memories: int, people: int, kept: Path | None = None) -> dict[str, object]:
    """Fill a system of its own and ask it; returns milliseconds by way, bytes, and what the machine was like.

    Args:
        memories: how many.
        people: of how many people.
        kept: a folder to fill and leave as it is; one that such a run has filled is only asked.
    """
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="cenotaph-bench-") as folder:
        data = (kept or Path(folder)) / "data"
        settings = load_settings(data=data, database_url=None, vault_url=None, redis_url=None, milvus_uri=None)
        with PeakMemory(os.getpid()) as memory, Embedded(settings) as embedded:
            async with _composed(settings, embedded) as composition:
                tenant, seconds = await _filled(composition, data, memories, people)
                filled = [Person(tenant, number, -(-memories // people)) for number in range(people)]
                resident = {name: sizes(pid)["Pss"] >> 20 for name, pid in embedded.processes().items()}
                with settled():  # as in a process that serves
                    ways = await _ways(composition, filled)
                fsync = await durability(embedded.endpoints.database_url)
            disk = {each.name: _bytes(each) >> 20 for each in sorted(data.iterdir()) if each.is_dir()}
    return {
        "memories": memories,
        "people": people,
        "fill_s": seconds,
        "fill_per_s": round(memories / seconds),
        "vectors_of_the_filling": "dice",
        **ways,
        "resident_mib": resident,
        "peak_pss_mib": memory.peak["Pss"] >> 20,
        "disk_mib": disk,
        **fsync,
        "load": {"before": load, "after": os.getloadavg()},
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }


@asynccontextmanager
async def _composed(settings: Settings, embedded: Embedded) -> AsyncIterator[Composition]:
    composition = Composition(settings, embedded.endpoints)
    await composition.migrate()
    try:
        yield composition
    finally:
        await composition.close()


async def _filled(composition: Composition, data: Path, memories: int, people: int) -> tuple[TenantId, float]:
    """Fill it, or read what an earlier run has written down about its filling."""
    note, each = data / _NOTE, -(-memories // people)
    if note.exists():
        found = orjson.loads(note.read_bytes())
        if (found["people"], found["each"]) != (people, each):
            raise BadInputError(f"{data.parent} holds {found['people']} people with {found['each']} memories each")
        return TenantId(UUID(found["tenant"])), found["fill_s"]
    begun, written = time.perf_counter(), 0

    def done(count: int) -> None:
        nonlocal written
        written += count
        if sys.stderr.isatty():
            rate = written / (time.perf_counter() - begun)
            sys.stderr.write(f"\r{written} of {memories} memories, {rate:.0f} a second ")

    tenant = await fill(composition, people, each, done)
    seconds = round(time.perf_counter() - begun, 1)
    note.write_bytes(orjson.dumps({"tenant": str(tenant), "people": people, "each": each, "fill_s": seconds}))
    return tenant, seconds


async def _ways(composition: Composition, filled: Sequence[Person]) -> dict[str, object]:
    """Ask in every way, as one asker and as many; the ways take turns, so that a busy machine is busy for all."""
    dice = random.Random(1)  # noqa: S311 - a sample is no secret
    people = dice.sample(filled, min(len(filled), 100))
    asked = []
    for number in range(_ASKED):
        person = people[number % len(people)]
        text = dice.choice(person.said)
        asked.append(Asked(person, text, await composition.embedder.embed_query(text)))
    async with composition.log("reader").connection() as connection:
        place = await place_of(connection, "vectors")
    await _opened(composition, place, people[0])
    parts = (composition.log("reader"), composition.vault("keeper"), composition.vectors, composition.models)
    nothing, vectors, everything = (
        RecallCache(age_s, CollectorRegistry(), kept) for age_s, kept in ((0, 0), (_HOUR_S, 0), (_HOUR_S, _ASKED))
    )
    cold, known, warm = (Recall(*parts, cache) for cache in (nothing, vectors, everything))
    policy = shipped_policy()
    served, given, again = (Contexts(*parts[:2], recall, policy) for recall in (cold, known, warm))
    for each in asked:
        await known.recall(each.person.scope, each.text)
        await again.compile(each.person.scope, _request(each))

    async def matrix(each: Asked) -> None:
        found = each.person.vectors @ each.vector
        np.argpartition(found, -min(BLEND.hints, len(found)))

    ways: dict[str, Callable[[Asked], Awaitable[object]]] = {
        "numpy": matrix,
        "milvus": lambda each: composition.vectors.search(place, each.person.scope, each.vector, BLEND.hints),
        "embedding": lambda each: composition.embedder.embed_query(each.text),
        "recall_without_embedding": lambda each: known.recall(each.person.scope, each.text, wanted=_BEST),
        "recall": lambda each: cold.recall(each.person.scope, each.text, wanted=_BEST),
        "context_without_embedding": lambda each: given.compile(each.person.scope, _request(each)),
        "context": lambda each: served.compile(each.person.scope, _request(each)),
        "context_cached": lambda each: again.compile(each.person.scope, _request(each)),
    }
    figures: dict[str, object] = {}
    for askers in _ASKERS:
        times = await _times(ways, asked, askers)
        floor = times["milvus"]
        figures[f"concurrency_{askers}"] = {
            **times,
            **{
                f"{way}_to_milvus_{at}": round(times[f"{way}_without_embedding"][f"{at}_ms"] / floor[f"{at}_ms"], 2)
                for way in ("recall", "context")
                for at in ("p50", "p99")
            },
        }
    return figures


@retry(
    retry=retry_if_exception_type(UnavailableError), wait=wait_fixed(1), stop=stop_after_delay(_OPEN_S), reraise=True
)
async def _opened(composition: Composition, place: str, person: Person) -> None:
    """Wait until the index answers."""
    await composition.vectors.search(place, person.scope, person.vectors[0], 1)


async def _times(
    ways: Mapping[str, Callable[[Asked], Awaitable[object]]], asked: Sequence[Asked], askers: int
) -> dict[str, dict[str, float]]:
    """Ask in all ways, a few questions in one and then in the next, so that a busy machine is busy for all of them."""
    for way in ways.values():
        await _time(way, asked[:_WARM], askers)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    taken = dict.fromkeys(ways, 0.0)
    for start in range(0, len(asked), _ROUND):
        for name, way in ways.items():
            begun = time.perf_counter()
            seconds[name] += await _time(way, asked[start : start + _ROUND], askers)
            taken[name] += time.perf_counter() - begun
    return {
        name: {
            "n": len(found),
            **{f"p{percent}_ms": milliseconds(percentile(sorted(found), percent), 2) for percent in (50, 95, 99)},
            "per_s": round(len(found) / taken[name], 1),
        }
        for name, found in seconds.items()
    }


async def _time(way: Callable[[Asked], Awaitable[object]], asked: Sequence[Asked], askers: int) -> list[float]:
    seconds: list[float] = []
    waiting = iter(asked)

    async def ask() -> None:
        for each in waiting:
            begun = time.perf_counter()
            await way(each)
            seconds.append(time.perf_counter() - begun)

    await asyncio.gather(*(ask() for _ in range(askers)))
    return seconds


def _request(each: Asked) -> ContextRequest:
    return ContextRequest(query=each.text, role=RecallRole.CHAT)


def _bytes(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def main(memories: int, people: int, kept: Path | None) -> dict[str, object]:
    """Run it to its end."""
    return asyncio.run(measure(memories, people, kept))
