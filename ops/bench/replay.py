"""`cenotaph bench replay`: how fast events are imported in bulk, and how fast they are read back and opened."""

import asyncio
import os
import platform
import resource
import time
from collections import defaultdict

from events.bodies import open_bodies
from events.envelope import StoredEvent
from events.log import read_sealed
from events.model import MEMORY_PART, Position, Scope
from ops.bench.history import House, fill, house
from ops.bench.places import durability, places, weaknesses

_PEOPLE = 8
_READ = 1000


async def measure(events: int, rounds: int) -> dict[str, object]:
    """Import so many events, read all of them back `rounds` times and open every body; return the figures."""
    load = os.getloadavg()
    async with places() as made:
        settings = await durability(made.clusters.log_url)
        weak = weaknesses(settings) + weaknesses(await durability(made.clusters.vault_url))
        async with house(made, "replay", _PEOPLE) as home:
            begun, processor = time.perf_counter(), time.process_time()
            appended, sealing = await fill(home, events, turns=False)
            imported_s, client_s = time.perf_counter() - begun, time.process_time() - processor
            sealed = await sealing
            sealed_s = time.perf_counter() - begun
            replays = [await _replay(home) for _ in range(rounds)]
    best = min(replays, key=lambda replay: replay[1])
    return {
        "appended": appended,
        "sealed": sealed,
        "import_events_per_s": round(appended / imported_s),
        "import_and_seal_events_per_s": round(sealed / sealed_s),
        "import_events_per_client_core_s": round(appended / client_s),
        "opened": [opened for opened, _, _ in replays],
        "replay_events_per_s": [round(opened / took) for opened, took, _ in replays],
        "replay_events_per_client_core_s": [round(opened / used) for opened, _, used in replays],
        "best_replay_events_per_s": round(best[0] / best[1]),
        "n_of_n": appended == sealed == events and all(opened == events for opened, _, _ in replays),
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "valid": not weak,
        "invalid_because": weak,
        **settings,
        "load": {"before": load, "after": os.getloadavg()},
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }


async def _replay(home: House) -> tuple[int, float, float]:
    """Read the sealed log from its beginning and open every body, page by page and of each page person by person.

    Returns:
        How many were opened, seconds, processor seconds.
    """
    position, opened = Position(-1), 0
    rings = {ring.scope: ring for ring in home.rings}
    begun, processor = time.perf_counter(), time.process_time()
    async with home.projector.connection() as connection:
        while events := await read_sealed(connection, position, _READ):
            by_person: dict[Scope, list[StoredEvent]] = defaultdict(list)
            for event in events:
                by_person[event.scope].append(event)
            for scope, own in by_person.items():
                bodies = await open_bodies(connection, rings[scope], ((event, MEMORY_PART) for event in own))
                opened += sum(isinstance(body, bytes) for body in bodies.values())
            position = events[-1].position or Position(0)
    return opened, time.perf_counter() - begun, time.process_time() - processor


def main(events: int, rounds: int) -> dict[str, object]:
    """Run it to its end."""
    return asyncio.run(measure(events, rounds))
