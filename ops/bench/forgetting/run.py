"""Forget one memory after the other, quietly and under load, while readers in other processes poll; see the README."""

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

from cenotaph.answers import Receipt
from cenotaph.calls import Turn
from cenotaph.client import AsyncCenotaph
from events.errors import CenotaphError
from events.model import MemoryId, Scope, SubjectId, TenantId
from ops.bench.facts import facts
from ops.bench.forgetting.everything import Everything
from ops.bench.forgetting.load import FIRST, Load, grows
from ops.bench.forgetting.readers import reading
from ops.bench.places import durability, weaknesses
from ops.bench.running import Up, up
from ops.bench.times import Clocks
from ops.composition import Composition
from projections.follower import place_of
from projections.vectors import Vectors

_SUBJECT = "bench"
_POLL_S = 0.005
_GIVE_UP_S = 120.0
_AFTER_S = 0.5
"""How long the readers go on asking after the receipt."""
_IDLE = 1.0
"""The load average, over a minute, up to which a machine counts as doing nothing else."""


@dataclass
class Forgotten:
    """One forget: when it was surely committed, and its receipt."""

    memory_id: UUID
    committed: float
    receipt: Receipt


class Person:
    """Whose memories are forgotten.

    Args:
        door: over HTTP, as an application goes.
        composition: the stores themselves, to see the commit and to measure the floor.
        scope: who that is inside.
    """

    def __init__(self, door: AsyncCenotaph, composition: Composition, scope: Scope) -> None:
        self._door = door
        self._composition = composition
        self._scope = scope

    async def remember(self, number: int, text: str) -> UUID:
        """Say something that becomes a memory; return its id."""
        turn = Turn(
            f"bench-{number}", "bench", datetime.now(UTC), [{"message_id": "m1", "role": "user", "content": text}]
        )
        await self._door.finalize(turn)
        deadline = time.monotonic() + _GIVE_UP_S
        while time.monotonic() < deadline:
            outcome = await self._door.outcome(turn.turn_id)
            if outcome.state == "considered":
                return outcome.verdicts[0].memory_id
            await asyncio.sleep(_POLL_S)
        raise CenotaphError(f"turn {turn.turn_id} was not considered")

    async def forget(self, memory: UUID) -> Forgotten:
        """Forget it; follow the receipt to its signature."""
        watching = asyncio.create_task(self._committed(memory))
        receipt = await self._door.forget(memory)
        committed = await watching
        deadline = time.monotonic() + _GIVE_UP_S
        while receipt.propagated_at is None:
            if time.monotonic() > deadline:
                raise CenotaphError(f"receipt {receipt.receipt_id} stays pending")
            await asyncio.sleep(_POLL_S)
            receipt = await self._door.receipt(receipt.receipt_id)
        return Forgotten(memory, committed, receipt)

    async def floor(self, clocks: Clocks, query: str) -> None:
        """Do the least a deletion needs, once: one commit, one delete in Milvus, one search there."""
        composition = self._composition
        vector = await composition.embedder.embed_query(query)
        async with composition.log("prober").connection() as connection:
            place = await place_of(connection, "vectors")
        begun = time.perf_counter()
        async with composition.log(None).connection() as connection:
            # a message in the write-ahead log: flushed like any commit, and no table holds it
            await connection.execute("select pg_logical_emit_message(true, 'bench', 'x')")
        clocks.note("commit", begun)
        step = time.perf_counter()
        await Vectors(composition.milvus, place).delete(self._scope, [MemoryId(uuid4())])
        clocks.note("milvus_delete", step)
        step = time.perf_counter()
        await composition.vectors.search(place, self._scope, vector, 10)
        clocks.note("milvus_search", step)
        clocks.note("together", begun)

    async def _committed(self, memory: UUID) -> float:
        """Return a time at which the tombstone was surely committed: when its fence was first seen."""
        async with self._composition.log("prober").connection() as connection:
            fenced = "select exists (select from log.fence where target = $1)"
            while not await connection.fetchval(fenced, memory):  # noqa: ASYNC110 - another process commits it
                await asyncio.sleep(0.001)
            return time.time()


async def measure(
    running: Up, forgets: int, readers: int, seconds: float, before: tuple[float, float, float]
) -> dict[str, object]:
    """Forget without load, find the rate, forget under it, then give the bytes back; return the figures.

    Args:
        running: the system.
        forgets: how many in each phase.
        readers: processes that poll.
        seconds: how long each rate of turns is tried.
        before: the load average before any of it was started.
    """
    composition = Composition(running.settings, running.endpoints)
    known = facts(2 * forgets + 1)
    try:
        async with AsyncCenotaph(running.url, timeout_s=_GIVE_UP_S) as door:
            person = Person(door.for_subject(running.key, _SUBJECT), composition, await _scope(composition, running))
            await person.forget(await person.remember(0, known[0].text))  # warms up, and is not counted
            quiet = await _phase(person, known[1 : forgets + 1], running, readers, offset=1)
            load = Load(door, running.key, composition.log("prober"))
            flat, tried = await load.highest(seconds)
            rate = FIRST if flat is None else flat
            async with load.at(rate):
                waited = await load.waiting()
                loaded = await _phase(person, known[forgets + 1 :], running, readers, offset=forgets + 1)
                waits = await load.waiting()
            loaded |= {"turns_per_s": round(rate, 2), "waiting_before": waited, "waiting_after": waits}
            purged = await Everything(composition).purge()
            return {
                "without_load": quiet,
                "under_load": loaded,
                "purge": purged,
                "rates_tried": tried,
                "goals": {"propagated_p50_ms": 500, "propagated_p99_ms": 2000, "hits": 0},
                "invalid_because": [
                    *weaknesses(await durability(running.endpoints.database_url)),
                    *_invalid(
                        {
                            "other programs kept the processors busy when it began": before[0] > _IDLE,
                            "no rate was flat": flat is None,
                            "turns waited ever longer while it was measured": grows(rate, waited, waits),
                            "a phase without reads proves nothing": not (quiet["reads"] and loaded["reads"]),
                            "a second receipt is missing": purged["second_receipts"] != 2 * forgets + 1,
                        }
                    ),
                ],
                "cpus": os.cpu_count(),
                "load_average": {"before": before, "after": os.getloadavg()},
            }
    finally:
        await composition.close()


def _invalid(reasons: Mapping[str, bool]) -> list[str]:
    return [reason for reason, holds in reasons.items() if holds]


async def _phase(
    person: Person, known: Sequence[object], running: Up, readers: int, *, offset: int
) -> dict[str, object]:
    """Remember and forget each fact, readers asking all the while."""
    clocks, floor = Clocks(), Clocks()
    forgotten = []
    async with reading(running.url, running.key, _SUBJECT, readers) as read:
        for number, fact in enumerate(known):
            text, value = str(getattr(fact, "text", "")), str(getattr(fact, "value", ""))
            memory = await person.remember(offset + number, text)
            await read.tell(memory_id=str(memory), query=value)
            async with asyncio.timeout(_GIVE_UP_S):
                await read.seen(memory)
            done = await person.forget(memory)
            forgotten.append(done)
            _note(clocks, done)
            await person.floor(floor, value)
            await asyncio.sleep(_AFTER_S)
            await read.tell(memory_id=str(memory), left=True)
    return {
        "forgets": len(forgotten),
        "reads": read.reads,
        "reads_failed": read.failed,
        "returned_before": len(read.given),
        "hits": read.hits({str(each.memory_id): each.committed for each in forgotten}),
        "since_commit": clocks.summary(),
        "floor": floor.summary(),
    }


def _note(clocks: Clocks, done: Forgotten) -> None:
    """Note when each layer had proven it, and when the receipt was signed: all since the tombstone, on one clock."""
    receipt = done.receipt
    clocks.add("committed", max(0.0, done.committed - receipt.requested_at.timestamp()))
    for layer in receipt.layers:
        if layer.state != "not_configured":
            clocks.add(layer.layer, (layer.at - receipt.requested_at).total_seconds())
    assert receipt.propagated_at is not None, "waited for"  # noqa: S101 - narrows the type
    clocks.add("receipt", (receipt.propagated_at - receipt.requested_at).total_seconds())


async def _scope(composition: Composition, running: Up) -> Scope:
    tenant = await composition.tenant_of(running.key)
    subject = await composition.vault("keeper").subject(TenantId(tenant), _SUBJECT)
    return Scope(tenant_id=TenantId(tenant), subject_id=SubjectId(subject))


def main(forgets: int, readers: int, seconds: float) -> dict[str, object]:
    """Run everything on a `cenotaph up` of its own."""
    before = os.getloadavg()
    with up() as running:
        return asyncio.run(measure(running, forgets, readers, seconds, before))


def table(result: dict[str, object]) -> str:
    """Lay the figures out for reading."""
    lines = []
    for name in ("without_load", "under_load"):
        phase = result[name]
        assert isinstance(phase, dict)  # noqa: S101  # narrows the type
        rest = {key: value for key, value in phase.items() if key not in {"since_commit", "floor"}}
        lines.append(f"{name}: {json.dumps(rest)}")
        for part in ("since_commit", "floor"):
            lines.append(f"  {part:18}{'n':>6}{'p50':>10}{'p95':>10}{'p99':>10}{'max':>10}  ms")
            lines += [
                f"    {step:16}{s['n']:>6}{s['p50_ms']:>10}{s['p95_ms']:>10}{s['p99_ms']:>10}{s['max_ms']:>10}"
                for step, s in phase[part].items()
            ]
    rest = {name: value for name, value in result.items() if name not in {"without_load", "under_load"}}
    return "\n".join([*lines, *(f"{name}: {json.dumps(value)}" for name, value in rest.items())])
