"""The readers: processes that poll, and what they were given."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Readers:
    """Processes that poll, and what they were given."""

    processes: Sequence[asyncio.subprocess.Process]
    given: list[dict[str, object]] = field(default_factory=list)
    reads: int = 0
    failed: int = 0

    async def tell(self, **line: object) -> None:
        """Tell every reader what to watch."""
        for process in self.processes:
            assert process.stdin is not None, "it was opened with a pipe"  # noqa: S101 - narrows the type
            process.stdin.write(json.dumps(line).encode() + b"\n")
            await process.stdin.drain()

    async def end(self) -> None:
        """Let them finish, and take what they said."""
        for process in self.processes:
            said, _ = await process.communicate(b"")  # closes its stdin, which ends it
            for line in map(json.loads, said.splitlines()):
                if "reads" in line:
                    self.reads += int(line["reads"])
                    self.failed += int(line["failed"])
                else:
                    self.given.append(line)

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
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ops.bench.forgetting.reader", url, key, subject),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 24,
        )
        for _ in range(count)
    ]
    readers = Readers(processes)
    try:
        yield readers
    finally:
        await readers.end()
