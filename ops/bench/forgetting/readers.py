"""The readers: processes that poll, and what they were given."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID


@dataclass
class Readers:
    """Processes that poll, and what they were given."""

    processes: Sequence[Process]
    given: list[dict[str, object]] = field(default_factory=list)
    reads: int = 0
    failed: int = 0
    _seen: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    async def tell(self, **line: object) -> None:
        """Tell every reader what to watch."""
        for process in self.processes:
            assert process.stdin is not None, "it was opened with a pipe"  # noqa: S101 - narrows the type
            process.stdin.write(json.dumps(line).encode() + b"\n")
            await process.stdin.drain()

    async def seen(self, memory: UUID) -> None:
        """Wait until a reader was given a memory: who never sees it proves nothing by not seeing it later."""
        await self._seen[str(memory)].wait()

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
    """Run so many readers for the length of a block."""
    command = (sys.executable, "-m", "ops.bench.forgetting.reader", url, key, subject)
    processes = [await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE) for _ in range(count)]
    readers = Readers(processes)
    async with asyncio.TaskGroup() as group:
        for process in processes:
            group.create_task(readers.take(process))
        try:
            yield readers
        finally:
            for process in processes:
                if process.stdin is not None:
                    process.stdin.close()  # which ends it
