"""kill -9 while upkeep works: a change of model, a summary, a consolidation end as if nobody had died, each once."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from events.envelope import StoredEvent, summary_stream
from events.log import read_stream
from events.model import (
    Embedded,
    Scope,
    SessionConsolidated,
    SessionId,
    SummaryWritten,
    TurnFinalized,
)
from projections.model_names import default_model, uncentred_model
from tests.faults.lives import counted
from tests.plant import Plant, planted

REINDEX = ("reindex.begun", "reindex.embedding", "reindex.indexing", "reindex.switching")
SUMMARY = ("summary.drafted", "summary.appended")
CONSOLIDATION = ("consolidate.drafted", "consolidate.appended")
SAID = ("我住在苏州", "帮我订周五去杭州的高铁", "那就定9:15的G7", "I play the violin", "预算不能超过3000元")


class Chores:
    """Chores, one after the other, each in a process of its own.

    Args:
        process: what forks them.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def do(self, chore: str, point: str = "-", *words: object) -> int:
        """Do one; return how its process ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{chore} {point} {' '.join(map(str, words))}\n".encode())
        return int(await asyncio.wait_for(self._process.stdout.readline(), 120))

    async def die(self, chore: str, point: str, *words: object) -> None:
        """Kill one at a failpoint."""
        assert await self.do(chore, point, *words) == -signal.SIGKILL, point


@asynccontextmanager
async def chores(plant: Plant, hits: Path) -> AsyncIterator[Chores]:
    """Hold the process that forks them."""
    endpoints = plant.composition.endpoints
    settings = {
        "DATABASE_URL": endpoints.database_url,
        "VAULT_URL": endpoints.vault_url,
        "REDIS_URL": endpoints.redis_url,
        "LIFE_MILVUS": endpoints.milvus_uri,
        "CENOTAPH_DATA": str(plant.composition.settings.data),
        "CENOTAPH_FAILPOINT_HITS": str(hits),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.faults.chores"),
        env={**os.environ, **settings},
        cwd=Path.cwd(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Chores(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def of_session(plant: Plant, scope: Scope, session: SessionId) -> list[StoredEvent]:
    async with plant.owner() as connection:
        return await read_stream(connection, scope, summary_stream(session))


async def test_upkeep_survives_a_kill_at_every_failpoint(tmp_path: Path) -> None:
    """Killed at each place, the next run goes on: one summary, one consolidation, one vector for each version."""
    hits = tmp_path / "hits"
    async with planted(tmp_path / "data") as plant, chores(plant, hits) as own:
        scope = await plant.person()
        for said in SAID:
            await plant.say(scope, said, "好的。")
        keyring = await plant.composition.vault("keeper").keyring(scope)
        session = SessionId((await keyring.intern([("session", "s1")]))["session", "s1"])
        named = (scope.tenant_id, scope.subject_id, session)

        await own.die("summarise", "summary.drafted", *named)
        assert await of_session(plant, scope, session) == []
        await own.die("summarise", "summary.appended", *named)
        assert await own.do("summarise", "-", *named) == 0
        written = [each.event for each in await of_session(plant, scope, session)]
        assert [type(each) for each in written] == [SummaryWritten]
        await plant.follow()

        await own.die("tidy", "consolidate.drafted")
        assert len(await of_session(plant, scope, session)) == 1
        await own.die("tidy", "consolidate.appended")
        await plant.follow()
        assert await own.do("tidy") == 0
        await plant.follow()
        consolidated = [each.event for each in await of_session(plant, scope, session)][1:]
        assert [type(each) for each in consolidated] == [SessionConsolidated]
        turns = [each.event for each in await plant.turns(scope)]
        made = [turn.turn_id for turn in turns if isinstance(turn, TurnFinalized) and turn.rests_on]
        assert made == [turn for each in consolidated for turn in getattr(each, "proposed", ())]
        assert len(made) == 1

        changing = plant.composition.reindex
        for point in REINDEX:
            await own.die("reindex", point)
            assert (await changing.standing()).serving == default_model()
        assert await own.do("reindex") == 0
        assert (await changing.standing()).serving == uncentred_model()
        events = [each.event for each in await plant.stream(scope)]
        embedded = [source for event in events if isinstance(event, Embedded) for source in event.sources]
        assert len(embedded) == len(set(embedded)) > 0
        await plant.follow()
        assert "住在苏州" in (await plant.recalled(scope, "我住在哪个城市？")).values()
        async for report in plant.composition.differ().run():
            assert report.found == 0, report
    assert {*SUMMARY, *CONSOLIDATION, *REINDEX} <= set(counted(hits))
