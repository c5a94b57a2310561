"""kill -9 at every step of a roll: nothing is lost, nothing forgotten opens, and the next roll ends it."""

import asyncio
import os
import signal
import sys
from collections import Counter
from pathlib import Path

from events.envelope import DataKey
from events.model import Scope
from tests.dice import dice
from tests.faults.lives import counted
from tests.vaults import Keys, ids, living, loot, table_copy, vaulted

FAILPOINTS = (
    "roll.begun",
    "roll.epoch_made",
    "roll.epoch_ready",
    "roll.tenants",
    "roll.people",
    "roll.data_keys",
    "roll.people_dropped",
    "roll.tenant_dropped",
    "roll.retired",
    "keyfile.overwritten",
    "keyfile.unlinked",
    "roll.destroyed",
)
TWICE = ("roll.people", "roll.data_keys", "roll.people_dropped")
"""Hit several times in one roll: also killed at the second."""


async def killed(keys: Keys, hits: Path, point: str) -> bool:
    """Roll in a process of its own that is to die at a failpoint; say whether it did."""
    environment = {**os.environ, "CENOTAPH_FAILPOINT": point, "CENOTAPH_FAILPOINT_HITS": str(hits)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.faults.roller", keys.url, str(keys.folder), env=environment, cwd=Path.cwd()
    )
    return await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL


async def test_a_roll_survives_a_kill_at_every_step(tmp_path: Path) -> None:
    """Killed anywhere while people lease, open and forget: all that is kept opens at once and after the next roll."""
    hits, random = tmp_path / "hits", dice(3)
    async with vaulted(tmp_path / "data") as keys:
        tenant = await keys.vault.create_tenant()
        people = [await keys.person(tenant) for _ in range(7)]
        kept: dict[Scope, list[DataKey]] = {scope: await keys.lease(scope, 6) for scope in people}
        copies, gone = [], list[DataKey]()
        for point in (*FAILPOINTS, *(f"{name}:2" for name in TWICE)):
            copies.append(await table_copy(keys))
            for scope in people[:5]:
                victim = kept[scope].pop(random.randrange(len(kept[scope])))
                await keys.destroy(scope, victim)
                gone.append(victim)
                kept[scope] += await keys.lease(scope, 1)
            assert await killed(keys, hits, point), point
            late = people[0]
            assert all([await keys.opens(scope, kept[scope]) for scope in people]), point
            kept[late] += await keys.lease(late, 1)
            after = kept[late].pop(0)
            await keys.destroy(late, after)  # behind the roll's back: the next one's work
            assert await keys.roller.roll() is not None
            state = await keys.roller.state()
            assert not any((state.interrupted, state.missing, state.unknown, state.due)), point
            assert all([await keys.opens(scope, kept[scope]) for scope in people]), point
            gone.append(after)
        now = await living(keys)
        for copy in copies[::5]:
            assert not ids(gone) & loot(copy, now).keys()
        assert len(await keys.rows("epoch")) == len(list(keys.folder.glob("epoch-*"))) == 1
    found = counted(hits)
    assert isinstance(found, Counter)
    assert set(FAILPOINTS) <= set(found)
