"""A phase of the benchmark: facts remembered and forgotten one after the other, readers asking all the while."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from ops.bench.facts import Fact
from ops.bench.forgetting.load import STEP, Load, Window
from ops.bench.forgetting.person import GIVE_UP_S, Forgotten, Person
from ops.bench.forgetting.readers import Readers, reading
from ops.bench.running import Up
from ops.bench.times import Clocks

SUBJECT: Final = "bench"
_AFTER_S: Final = 0.5
"""How long the readers go on asking after the receipt."""
_STEPS_BACK: Final = 6
"""How often at most the rate is lowered while forgets are measured under it."""
Figures = dict[str, Any]


class Phases:
    """What is measured of one person.

    Args:
        running: the system.
        person: whose memories are forgotten.
        readers: processes that poll.
    """

    def __init__(self, running: Up, person: Person, readers: int) -> None:
        self._running = running
        self._person = person
        self._readers = readers

    def asking(self) -> AbstractAsyncContextManager[Readers]:
        """Run the readers for the length of a block."""
        return reading(self._running.url, self._running.key, SUBJECT, self._readers)

    async def phase(self, known: Sequence[Fact], window: Window | None = None) -> Figures:
        """Remember and forget each fact, readers asking all the while; stop where the turns of a load lag behind."""
        clocks, floor = Clocks(), Clocks()
        forgotten = []
        async with self.asking() as read:
            for fact in known:
                memory = await self._person.remember(fact.text)
                await read.tell(memory_id=str(memory), query=fact.value)
                await read.seen(memory, GIVE_UP_S)
                done = await self._person.forget(memory)
                forgotten.append(done)
                _note(clocks, done)
                await self._person.floor(floor, fact.value)
                await asyncio.sleep(_AFTER_S)
                await read.tell(memory_id=str(memory), left=True)
                if window is not None and window.lags:
                    break
        return {
            "forgets": len(forgotten),
            "reads": read.reads,
            "reads_failed": read.failed,
            "returned_before": len(read.given),
            "hits": read.hits({str(each.memory_id): each.committed for each in forgotten}),
            "since_commit": clocks.summary(),
            "floor": floor.summary(),
        }

    async def under_load(self, load: Load, rate: float, known: Sequence[Fact]) -> tuple[Figures, Window]:
        """Forget each fact while turns come; where more and more wait, begin again at a lower rate, not for ever."""
        stepped_back, hits = list[dict[str, object]](), Counter[str]()
        while True:
            async with load.at(rate) as window:
                found = await self.phase(known, window)
            hits.update(found["hits"])
            if window.flat or len(stepped_back) == _STEPS_BACK:
                return found | {"hits": dict(hits), "load": window.figures(), "stepped_back": stepped_back}, window
            stepped_back.append(window.figures())
            rate /= STEP


def _note(clocks: Clocks, done: Forgotten) -> None:
    """Note when each layer had proven it, and when the receipt was signed: all since the tombstone, on one clock."""
    receipt = done.receipt
    clocks.add("committed", max(0.0, done.committed - receipt.requested_at.timestamp()))
    for layer in receipt.layers:
        if layer.state != "not_configured":
            clocks.add(layer.layer, (layer.at - receipt.requested_at).total_seconds())
    assert receipt.propagated_at is not None, "waited for"  # noqa: S101 - narrows the type
    clocks.add("receipt", (receipt.propagated_at - receipt.requested_at).total_seconds())
