"""Whose memories are forgotten, one after the other, as an application does it."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID, uuid4

from cenotaph.answers import Receipt
from cenotaph.calls import Turn
from cenotaph.client import AsyncCenotaph
from events.errors import CenotaphError
from events.model import MemoryId, Scope
from ops.bench.times import Clocks
from ops.composition import Composition
from projections.follower import place_of
from projections.vectors import Vectors

GIVE_UP_S: Final = 120.0
_ASK_S: Final = 0.05
"""How often is asked for what tells its own time: no figure depends on it."""


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
        self._said = 0
        self.forgotten = 0

    async def remember(self, text: str) -> UUID:
        """Say something that becomes a memory; return its id.

        Raises:
            CenotaphError: it does not.
        """
        self._said += 1
        turn = Turn(
            f"bench-{self._said}", "bench", datetime.now(UTC), [{"message_id": "m1", "role": "user", "content": text}]
        )
        await self._door.finalize(turn)
        deadline = time.monotonic() + GIVE_UP_S
        while time.monotonic() < deadline:
            outcome = await self._door.outcome(turn.turn_id)
            if outcome.state == "considered" and outcome.verdicts:
                return outcome.verdicts[0].memory_id
            await asyncio.sleep(_ASK_S)
        raise CenotaphError(f"turn {turn.turn_id} was not remembered within {GIVE_UP_S:.0f} s")

    async def forget(self, memory: UUID) -> Forgotten:
        """Forget it; follow the receipt to its signature."""
        watching = asyncio.create_task(self._committed(memory))
        try:
            receipt = await self._door.forget(memory)
            committed = await asyncio.wait_for(watching, GIVE_UP_S)
        finally:
            watching.cancel()
        deadline = time.monotonic() + GIVE_UP_S
        while receipt.propagated_at is None:
            if time.monotonic() > deadline:
                raise CenotaphError(f"receipt {receipt.receipt_id} stays pending")
            await asyncio.sleep(_ASK_S)
            receipt = await self._door.receipt(receipt.receipt_id)
        self.forgotten += 1
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
