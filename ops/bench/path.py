"""How long the whole path takes: turn → recallable, forget → tombstone, forget → receipt; and how much memory.

    python -m ops.bench.path [--turns 200] [--forgets 200] [--json]

One person speaks, one turn after the other, over HTTP to a `cenotaph up` of its own. Every time is what the caller
sees. Beside each turn runs a floor: one commit, one vector search, one embedding, as fast as this machine does them at
that moment.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

from cenotaph.calls import Turn
from cenotaph.client import AsyncCenotaph
from events.model import Scope
from events.postgres import Database
from ops.bench.facts import Fact, facts
from ops.bench.memory_use import PeakMemory
from ops.bench.running import Up, up
from ops.bench.times import Clocks
from ops.composition import Composition
from projections.follower import place_of

T = TypeVar("T")

_SUBJECT = "bench"
_POLL_S = 0.005
_GIVE_UP_S = 30.0
_WARM_UP = 5
_HINTS = 50  # as many as recall asks for
_DURABILITY = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method")


class Floor:
    """The cheapest durable step of each kind, measured in the same run on the same stores."""

    def __init__(self, composition: Composition, scope: Scope, place: str) -> None:
        self._composition = composition
        self._scope = scope
        self._place = place

    async def measure(self, text: str, clocks: Clocks) -> None:
        """Do each once."""
        embedder, vectors = self._composition.embedder, self._composition.vectors
        await clocks.time("embedding", embedder.embed_query(text))
        vector = await embedder.embed_query(text)
        await clocks.time("milvus_search", vectors.search(self._place, self._scope, vector, _HINTS))
        async with self._composition.log(None).connection() as connection:
            # a message in the write-ahead log: flushed like any commit, and no table holds it
            commit = connection.execute("select pg_logical_emit_message(true, 'bench', 'x')")
            await clocks.time("postgres_commit", commit)


async def measure(running: Up, turns: int, forgets: int) -> dict[str, object]:
    """Say and forget one after the other; return the figures."""
    path, floor_clocks = Clocks(), Clocks()
    composition = Composition(running.settings, running.endpoints)
    known = facts(turns + _WARM_UP)
    remembered: list[tuple[Fact, UUID]] = []
    after_forget = 0
    try:
        async with AsyncCenotaph(running.url, timeout_s=_GIVE_UP_S) as door:
            person = door.for_subject(running.key, _SUBJECT)
            for number, fact in enumerate(known[:_WARM_UP]):
                await _forget(person, await _say(person, f"warm-{number}", fact, Clocks()), Clocks())
            floor = await _floor(composition)
            for number, fact in enumerate(known[_WARM_UP:]):
                remembered.append((fact, await _say(person, f"turn-{number}", fact, path)))
                await path.time("context", person.context(fact.value, role="chat"))
                await floor.measure(fact.value, floor_clocks)
            for fact, memory_id in remembered[:forgets]:
                await _forget(person, memory_id, path)
                found = await person.search(fact.value)
                after_forget += any(memory.memory_id == memory_id for memory in found.memories)
        durability = {
            "log": await _durability(composition.log(None)),
            "vault": await _durability(vault := Database(running.endpoints.vault_url, None)),
        }
        await vault.close()
    finally:
        await composition.close()
    return {
        "path": path.summary(),
        "floor": floor_clocks.summary(),
        "returned_after_forget": after_forget,
        "durability": durability,
    }


async def _say(person: AsyncCenotaph, turn_id: str, fact: Fact, clocks: Clocks) -> UUID:
    """Hand over a turn and search until it is found; return the memory's id."""
    turn = Turn(
        turn_id,
        "bench",
        datetime.now(UTC),
        [
            {"message_id": "m1", "role": "user", "content": fact.text},
            {"message_id": "m2", "role": "assistant", "content": "好的。"},
        ],
    )
    begun = time.perf_counter()
    await person.finalize(turn)
    clocks.note("turn_acknowledged", begun)

    async def look() -> UUID | None:
        asked = time.perf_counter()
        found = await person.search(fact.value)
        clocks.note("search", asked)
        return next((each.memory_id for each in found.memories if fact.value in (each.content or "")), None)

    memory_id = await _until(look, f"{turn_id} did not become recallable")
    clocks.note("turn_recallable", begun)
    return memory_id


async def _forget(person: AsyncCenotaph, memory_id: UUID, clocks: Clocks) -> None:
    """Forget a memory and ask for the receipt until it is signed."""
    posted, begun = datetime.now(UTC), time.perf_counter()
    receipt = await person.forget(memory_id)
    clocks.note("forget_answered", begun)
    # the same machine, so the same clock
    clocks.add("forget_tombstone", (receipt.requested_at - posted).total_seconds())

    async def look() -> bool:
        return (await person.receipt(receipt.receipt_id)).decision != "DELETION_PENDING"

    await _until(look, f"receipt {receipt.receipt_id} stays pending")
    clocks.note("forget_receipt", begun)


async def _until(look: Callable[[], Awaitable[T | None]], failure: str) -> T:
    deadline = time.monotonic() + _GIVE_UP_S
    while time.monotonic() < deadline:
        if found := await look():
            return found
        await asyncio.sleep(_POLL_S)
    raise SystemExit(failure)


async def _floor(composition: Composition) -> Floor:
    async with composition.log("projector").connection() as connection:
        row = await connection.fetchrow("select tenant_id, subject_id from log.event where type = 'accepted' limit 1")
        place = await place_of(connection, "vectors")
    if row is None:
        raise SystemExit("nothing was kept in the warm-up")
    return Floor(composition, Scope(tenant_id=row["tenant_id"], subject_id=row["subject_id"]), place)


async def _durability(database: Database) -> dict[str, str]:
    async with database.connection() as connection:
        return {name: await connection.fetchval("select current_setting($1)", name) for name in _DURABILITY}


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, run, print."""
    parser = argparse.ArgumentParser(prog="python -m ops.bench.path", description="Latency and memory of the path")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--forgets", type=int, default=200, help="how many of the turns' memories are forgotten")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    if not 0 < args.forgets <= args.turns:
        parser.error("--forgets is 1 to --turns")
    facts(args.turns + _WARM_UP)
    load_before = os.getloadavg()
    with up() as running, PeakMemory(running.pid) as memory:
        figures = asyncio.run(measure(running, args.turns, args.forgets))
    result = figures | {
        "memory": {
            "peak_pss_mib": memory.peak["Pss"] >> 20,
            "peak_rss_mib": memory.peak["Rss"] >> 20,
            "processes": memory.processes,
            "samples": memory.samples,
        },
        "up_ready_s": round(running.started_s, 1),
        "load_average": {"before": load_before, "after": os.getloadavg()},
        "cpus": os.cpu_count(),
    }
    print(json.dumps(result, ensure_ascii=False, indent=2) if args.json else table(result))


def table(result: dict[str, object]) -> str:
    """Lay the figures out for reading."""
    lines = []
    for part in ("path", "floor"):
        steps = result[part]
        assert isinstance(steps, dict)  # noqa: S101  # narrows the type
        lines.append(f"{part:20}{'n':>6}{'p50':>10}{'p99':>10}{'max':>10}  ms")
        lines += [
            f"  {name:18}{s['n']:>6}{s['p50_ms']:>10}{s['p99_ms']:>10}{s['max_ms']:>10}" for name, s in steps.items()
        ]
    rest = {name: value for name, value in result.items() if name not in {"path", "floor"}}
    return "\n".join([*lines, *(f"{name}: {json.dumps(value)}" for name, value in rest.items())])


if __name__ == "__main__":
    main()
