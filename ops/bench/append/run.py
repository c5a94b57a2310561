"""`cenotaph bench append`: contenders take turns, round by round, so that a busy machine is busy for all of them."""

import asyncio
import os
import platform
import time
from collections import defaultdict
from collections.abc import Sequence

from events.postgres import Database
from ops.bench.append.contender import Contender, Shape, Slice, median, run, summary
from ops.bench.append.ours import VARIANTS, Ours
from ops.bench.append.peers import installed, peer
from ops.bench.memory_use import PeakMemory
from ops.bench.places import Places, durability, places, weaknesses
from ops.bench.times import Clocks

_COMMITS = 100

ABSENT = "absent"


async def measure(shape: Shape, rounds: int, *, variants: bool, peers: bool) -> dict[str, object]:
    """Run every contender in every round; return the figures of the full product at the top, the others beside it."""
    versions = installed() if peers else {}
    load = os.getloadavg()
    with PeakMemory(os.getpid()) as memory:
        async with places() as made:
            settings = {
                "log": await durability(made.clusters.log_url),
                "vault": await durability(made.clusters.vault_url),
            }
            contenders: list[Contender] = [Ours(made, variant) for variant in (VARIANTS if variants else VARIANTS[:1])]
            contenders += [peer(name, made) for name, version in versions.items() if version]
            slices, floor = await _rounds(contenders, shape, rounds, made)
    weak = [f"{cluster}: {weakness}" for cluster, found in settings.items() for weakness in weaknesses(found)]
    full = slices["full"]
    return {
        "writers": shape.writers,
        "batch": shape.batch,
        **summary(full),
        "valid": not weak,
        "invalid_because": weak,
        "variants": {variant.name: summary(slices[variant.name]) for variant in VARIANTS[1:] if variant.name in slices},
        "peers": {
            name: {"version": version, **summary(slices[name])} if version else ABSENT
            for name, version in versions.items()
        },
        "ratio_to": {name: ratio(full, found) for name, found in slices.items() if name != "full"},
        "floor": floor.summary(),
        "rounds": rounds,
        **settings["log"],
        "settings": settings,
        "load": {"before": load, "after": os.getloadavg()},
        "memory": {
            "peak_pss_mib": memory.peak["Pss"] >> 20,
            "peak_rss_mib": memory.peak["Rss"] >> 20,
            "processes": memory.processes,
        },
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }


async def _rounds(
    contenders: Sequence[Contender], shape: Shape, rounds: int, made: Places
) -> tuple[dict[str, list[Slice]], Clocks]:
    slices: dict[str, list[Slice]] = defaultdict(list)
    floor, bare = Clocks(), Database(await made.bare("floor"), None, 1)
    share = Shape(shape.writers, shape.batch, -(-shape.events // rounds), shape.seconds / rounds)
    try:
        for contender in contenders:
            await contender.create()
        for _ in range(rounds):
            for contender in contenders:
                slices[contender.name].append(await run(contender, share))
            await commits(bare, floor)
    finally:
        await bare.close()
    return slices, floor


async def commits(database: Database, clocks: Clocks) -> None:
    """Time commits that carry nothing but a message in the write-ahead log, which makes them flush it."""
    async with database.connection() as connection:
        for _ in range(_COMMITS):
            begun = time.perf_counter()
            await connection.execute("select pg_logical_emit_message(true, 'bench', 'x')")
            clocks.note("empty_commit", begun)


def ratio(ours: Sequence[Slice], theirs: Sequence[Slice]) -> float:
    """Return how many times faster we were than they were in the same round, the median of the rounds."""
    return round(median([one.rate / other.rate for one, other in zip(ours, theirs, strict=True)]), 2)


def main(shape: Shape, rounds: int, *, variants: bool, peers: bool) -> dict[str, object]:
    """Run it to its end."""
    return asyncio.run(measure(shape, rounds, variants=variants, peers=peers))
