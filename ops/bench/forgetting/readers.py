"""The readers: processes that poll, and what they were given."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from events.errors import CenotaphError

_END_S: Final = 60.0
"""How long a reader may take to finish the read it is at."""


@dataclass
class Readers:
    """Processes that poll, and what they were given."""

    processes: Sequence[Process]
    given: list[dict[str, object]] = field(default_factory=list)
    reads: int = 0
    failed: int = 0
    _seen: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    async def tell(self, **line: object) -> None:
        """Tell every reader what to watch.

        Raises:
            CenotaphError: one has ended.
        """
        for process in self.processes:
            assert process.stdin is not None, "it was opened with a pipe"  # noqa: S101 - narrows the type
            try:
                process.stdin.write(json.dumps(line).encode() + b"\n")
                await process.stdin.drain()
            except ConnectionError:
                raise CenotaphError(f"reader {process.pid} ended by itself") from None

    async def seen(self, memory: UUID, within_s: float) -> None:
        """Wait until a reader was given a memory: who never sees it proves nothing by not seeing it later.

        Raises:
            CenotaphError: nobody was given it in time.
        """
        try:
            await asyncio.wait_for(self._seen[str(memory)].wait(), within_s)
        except TimeoutError:
            raise CenotaphError(f"no reader was given memory {memory} within {within_s:.0f} s") from None

    async def take(self, process: Process) -> None:
        """Take what a reader says until it ends."""
        assert process.stdout is not None, "it was opened with a pipe"  # noqa: S101 - narrows the type
        async for said in process.stdout:
            line = json.loads(said)
            if "reads" in line:
                self.reads += line["reads"]
                self.failed += line["failed"]
            else:
                self.given.append(line)
                self._seen[line["memory_id"]].set()
        await process.wait()

    def hits(self, committed: Mapping[str, float]) -> dict[str, int]:
        """Count reads that began after a memory's commit and were given it all the same, by way."""
        never = float("inf")
        late = (
            str(each["way"])
            for each in self.given
            if float(str(each["started"])) > committed.get(str(each["memory_id"]), never)
        )
        return dict(Counter(late))


@asynccontextmanager
async def reading(url: str, key: str, subject: str, count: int) -> AsyncIterator[Readers]:
    """Run so many readers for the length of a block; all have ended when it is over, however it ends.

    Raises:
        CenotaphError: one of them failed or did not end, so what it was given is not known.
    """
    command = (sys.executable, "-m", "ops.bench.forgetting.reader", url, key, subject)
    processes = list[Process]()
    taking = list[asyncio.Task[None]]()
    readers = Readers(processes)
    try:
        for _ in range(count):
            processes.append(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE))
            taking.append(asyncio.create_task(readers.take(processes[-1])))
        yield readers
    finally:
        for process in processes:
            if process.stdin is not None:
                process.stdin.close()  # which ends it
        if taking:
            await asyncio.wait(taking, timeout=_END_S)
        for process in processes:
            if process.returncode is None:
                process.kill()
        await asyncio.gather(*taking, return_exceptions=True)
    if failed := [process.returncode for process in processes if process.returncode]:
        raise CenotaphError(f"{len(failed)} of {count} readers failed or did not end within {_END_S:.0f} s")
