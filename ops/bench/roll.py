"""How long a roll of the keys takes, and what a turn beside it feels of it.

    python -m ops.bench.roll [--people 10000] [--keys 10] [--json]

A tenant's people lease their keys as turns do, on a `cenotaph up` of its own. Then keys roll three times: everybody
forgot something, one in a hundred did, nobody did. All the while one more person of the tenant hands over turns by
HTTP, one after the other; before each roll as many seconds without one are the quiet to compare with.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Awaitable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TypeVar
from uuid import uuid4

from cenotaph.calls import Turn
from cenotaph.client import AsyncCenotaph
from events.model import KeyId, Scope, SubjectId
from ops.bench.running import Up, up
from ops.bench.times import Clocks
from ops.composition import Composition
from services.access.keys import tenant_of

T = TypeVar("T")

_TOGETHER = 8  # connections of a pool
_QUIET_S = 10.0
_FORGET = {"everybody": 1, "one_in_a_hundred": 100, "nobody": 0}


async def measure(running: Up, people: int, keys: int) -> dict[str, object]:
    """Fill the vault, roll, and time turns with and without a roll beside them."""
    composition = Composition(running.settings, running.endpoints)
    try:
        async with AsyncCenotaph(running.url, timeout_s=30) as door:
            person, clocks = door.for_subject(running.key, "bench"), Clocks()
            await _turns(person, asyncio.sleep(1), Clocks(), "warm-up")
            living = await _fill(composition, running.key, people, keys)
            rolls = {name: await _roll(composition, person, living, name, clocks) for name in _FORGET}
        return {"rolls": rolls, "turns": clocks.summary()}
    finally:
        await composition.close()


async def _fill(composition: Composition, api_key: str, people: int, keys: int) -> dict[Scope, list[KeyId]]:
    """Let people of the turns' own tenant lease keys."""
    vault, gate = composition.vault("keeper"), asyncio.Semaphore(_TOGETHER)
    tenant = await tenant_of(composition.api_keys, api_key)
    assert tenant is not None, "the key of the running `up`"  # noqa: S101 - narrows the type

    async def one() -> tuple[Scope, list[KeyId]]:
        scope = Scope(tenant_id=tenant, subject_id=SubjectId(uuid4()))
        async with gate:
            return scope, [key.key_id for key in await (await vault.keyring(scope)).lease(keys)]

    return dict(await asyncio.gather(*(one() for _ in range(people))))


async def _roll(
    composition: Composition, person: AsyncCenotaph, living: dict[Scope, list[KeyId]], name: str, clocks: Clocks
) -> dict[str, object]:
    eraser, every = composition.vault("eraser"), _FORGET[name]
    for scope in list(living)[::every] if every else ():
        await eraser.destroy(scope, [living[scope].pop()])
    await _turns(person, asyncio.sleep(_QUIET_S), clocks, f"{name}: quiet")
    begun = time.perf_counter()
    counts = await _turns(person, composition.roller.roll(), clocks, f"{name}: roll")
    seconds = time.perf_counter() - begun
    assert counts is not None, "nobody else rolls"  # noqa: S101 - narrows the type
    return {"seconds": round(seconds, 2), **asdict(counts)}


async def _turns(person: AsyncCenotaph, beside: Awaitable[T], clocks: Clocks, name: str) -> T:
    """Hand over turns while something else goes on; return what that returned."""
    other = asyncio.ensure_future(beside)
    while not other.done():
        turn = Turn(
            str(uuid4()), "bench", datetime.now(UTC), [{"message_id": "m1", "role": "user", "content": "这周有点忙。"}]
        )
        await clocks.time(name, person.finalize(turn))
    return await other


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, run, print."""
    parser = argparse.ArgumentParser(prog="python -m ops.bench.roll", description="Rolling keys beside turns")
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--keys", type=int, default=10, help="data keys of each, at least 3")
    parser.add_argument("--json", action="store_true", help="print JSON on one line")
    args = parser.parse_args(argv)
    with up() as running:
        figures = asyncio.run(measure(running, args.people, args.keys))
    result = {"people": args.people, "data_keys": args.people * args.keys, **figures, "load": os.getloadavg()}
    print(json.dumps(result, indent=None if args.json else 2))


if __name__ == "__main__":
    main()
