"""A reader in a process of its own: polls what is about to be forgotten, in every way, and says what it was given.

    python -m ops.bench.forgetting.reader URL KEY SUBJECT

One JSON line a memory on stdin (`memory_id`, `query`, or `left` to stop asking for it). On stdout one line a read that
returned a memory it watches (`memory_id`, `started` in seconds since 1970, `way`), at the end how many reads it made.
"""

import asyncio
import json
import sys
import time
from uuid import UUID

from cenotaph.client import AsyncCenotaph
from cenotaph.errors import CenotaphError

_ALL = 30.0


async def read(url: str, key: str, subject: str) -> None:
    """Poll until stdin ends."""
    watched: dict[UUID, str] = {}
    reads = failed = 0
    ended = asyncio.Event()
    listening = asyncio.create_task(_listen(watched, ended))
    async with AsyncCenotaph(url, timeout_s=_ALL) as door:
        person = door.for_subject(key, subject)
        while not ended.is_set():
            for memory, query in list(watched.items()):
                for way in ("search", "show", "context", "list"):
                    if ended.is_set():
                        break
                    started = time.time()
                    try:
                        given = memory in await _given(person, way, memory, query)
                    except CenotaphError:
                        failed += 1
                        continue
                    reads += 1
                    if given:
                        _say({"memory_id": str(memory), "started": started, "way": way})
            await asyncio.sleep(0.005)
    await listening
    _say({"reads": reads, "failed": failed})


async def _given(person: AsyncCenotaph, way: str, memory: UUID, query: str) -> set[UUID]:
    match way:
        case "search":
            return {each.memory_id for each in (await person.search(query)).memories}
        case "context":
            return {each.memory_id for each in (await person.context(query, role="chat")).memories}
        case "list":
            return {each.memory_id for each in (await person.memories(limit=20)).memories}
        case _:
            shown = await person.memory(memory)
            return set() if shown.content is None else {memory}


async def _listen(watched: dict[UUID, str], ended: asyncio.Event) -> None:
    try:
        while line := await asyncio.to_thread(sys.stdin.readline):
            told = json.loads(line)
            if told.get("left"):
                watched.pop(UUID(told["memory_id"]), None)
            else:
                watched[UUID(told["memory_id"])] = told["query"]
    finally:
        ended.set()


def _say(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    asyncio.run(read(*sys.argv[1:4]))
