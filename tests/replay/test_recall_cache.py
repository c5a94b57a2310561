"""The recall cache in one process answers nothing that another process has changed (R37)."""

import json
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from uuid import UUID

import pytest

from events.model import MemoryId, Scope
from tests.plant import Plant, planted

PHRASINGS = ("我的工位在哪里？", "我坐在哪里", "where do I sit at work?")


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


@dataclass
class Asker:
    """Another process, asked line by line."""

    process: Process

    async def ask(self, query: str) -> tuple[set[MemoryId], bool]:
        """Recall there; return which memories came, and whether the candidates were cached."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(query).encode() + b"\n")
        answer = json.loads(await self.process.stdout.readline())
        return {MemoryId(UUID(each)) for each in answer["came"]}, answer["cached"]


@asynccontextmanager
async def asking(plant: Plant, scope: Scope) -> AsyncIterator[Asker]:
    """Run the other process for one person."""
    given = {
        "tenant": str(scope.tenant_id),
        "subject": str(scope.subject_id),
        "data": str(plant.composition.settings.data),
        "endpoints": asdict(plant.composition.endpoints),
    }
    process = await create_subprocess_exec(
        sys.executable, "-m", "tests.replay.asker", json.dumps(given), stdin=PIPE, stdout=PIPE
    )
    try:
        yield Asker(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def test_a_warm_cache_answers_nothing_after_a_forget_elsewhere(plant: Plant) -> None:
    """2: three phrasings are cached in A, B forgets the memory: A's next answers are without it."""
    scope = await plant.person()
    seat = await plant.remember(scope, "请记住：我的工位在三楼靠窗。")
    city = await plant.remember(scope, "请记住：我住在苏州。")
    async with asking(plant, scope) as other:
        for phrasing in PHRASINGS:
            assert (seat in (await other.ask(phrasing))[0], (await other.ask(phrasing))[1]) == (True, True)
        await plant.forget(scope, seat)
        for phrasing in PHRASINGS:
            came, cached = await other.ask(phrasing)
            assert (seat in came, cached) == (False, False)
        await plant.follow()
        assert [await other.ask("我住在哪里") for _ in range(2)] == [({city}, False), ({city}, True)]
        await plant.say(scope, "请记住：我养了一只猫。")
        assert not (await other.ask("我住在哪里"))[1]
