"""What the parts do when a store goes away, hangs, and comes back."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from events.errors import UnavailableError
from events.model import Scope
from events.postgres import Database
from ops.composition import Composition
from ops.embedded import MILVUS, POSTGRES_LOG, POSTGRES_VAULT
from ops.run import Running
from services.wire.recall import ContextRequest, RecallRole, SearchRequest
from tests.plant import Plant, planted
from workers import loop

SLOTS = 4


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own, whose servers may be killed."""
    async with planted(tmp_path_factory.mktemp("outage")) as plant:
        yield plant


@contextmanager
def hanging(plant: Plant, server: str) -> Iterator[None]:
    """Let a server hang: it holds its connections and answers nothing."""
    pid = plant.embedded.processes()[server]
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    pids = [pid, *map(int, children)]
    for each in pids:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in pids:
            os.kill(each, signal.SIGCONT)


async def fill(database: Database, slots: int = SLOTS) -> None:
    """Ask over so many connections at once."""
    together = asyncio.Barrier(slots)

    async def ask() -> None:
        async with database.connection() as connection:
            await together.wait()
            assert await connection.fetchval("select 1") == 1

    await asyncio.gather(*(ask() for _ in range(slots)))


async def test_the_first_request_after_a_restart_succeeds_on_every_connection(plant: Plant) -> None:
    """Connections that died idle are replaced before anybody gets one."""
    database = Database(plant.composition.endpoints.database_url, None, size=SLOTS)
    try:
        await fill(database)
        await plant.kill(POSTGRES_LOG)
        plant.embedded.revive(POSTGRES_LOG)
        await asyncio.sleep(0.1)  # reviving held the loop up; now it reads that the old connections ended
        for _ in range(SLOTS):
            await fill(database, 1)
        await fill(database)
    finally:
        await database.close()


async def test_a_hanging_database_is_given_up(plant: Plant) -> None:
    """A server that answers nothing, on an old connection or a new one, ends as unavailable; then it is asked again."""
    database = Database(plant.composition.endpoints.vault_url, "vault_keeper", size=2, answer_s=0.5)
    try:
        await fill(database, 1)
        with hanging(plant, POSTGRES_VAULT):
            for _ in range(2):
                with pytest.raises(UnavailableError):
                    async with database.transaction() as connection:
                        await connection.fetchval("select 1")
        await fill(database, 2)
    finally:
        await database.close()


async def test_recall_does_without_a_hanging_vector_index_and_says_so(plant: Plant) -> None:
    """While the index hangs, what shares a word with the query is found; the answer names the path that is missing."""
    scope = await plant.person()
    memory = await plant.remember(scope, "请记住：我喜欢北京烤鸭。")
    contexts = plant.composition.backend.contexts
    request = ContextRequest(query="北京烤鸭", role=RecallRole.CHAT)
    assert (await contexts.compile(scope, request)).degraded == ()
    with hanging(plant, MILVUS):
        assert (await contexts.compile(scope, request)).degraded == ()  # nothing has changed since it was found
        context = await contexts.compile(scope, request.model_copy(update={"query": "北京的烤鸭"}))
        assert (context.degraded, [each.memory_id for each in context.memories]) == (("vectors",), [memory])
        search = await contexts.search(scope, SearchRequest(query="duck"))
        assert (search.degraded, search.memories) == (("vectors",), ())
    async with asyncio.timeout(60):
        # it is left alone for a moment, as it did not answer
        while (found := await contexts.search(scope, SearchRequest(query="duck"))).degraded:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert [each.memory_id for each in found.memories] == [memory]


async def test_a_degraded_recall_proves_nothing(plant: Plant) -> None:
    """The probe of the read path does not take silence for absence: the read path raises instead."""
    scope = await plant.person()
    with hanging(plant, MILVUS), pytest.raises(UnavailableError):
        await plant.composition._ask(scope, "北京烤鸭")


async def test_turns_outlast_an_outage_of_the_vault(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vault is away for more deliveries than the cap allows: then every turn ends with its real outcome."""
    monkeypatch.setattr(loop, "_LONGEST_PAUSE_S", 0.4)
    scope, cap = await plant.person(), 2
    turns = [plant.turn("我住在苏州", "好的。"), plant.turn("Please always keep your answers short.", "OK.")]
    for turn in turns:
        await plant.store(scope, turn)
    settings = plant.another().settings.model_copy(update={"delivery_cap": cap, "reclaim_idle_ms": 200})
    await plant.kill(POSTGRES_VAULT)
    with capture_logs() as lines:
        async with Running(Composition(settings, plant.composition.endpoints), ("project", "remember"), door=False):
            async with asyncio.timeout(60):
                while sum(count > cap for count in postponed(lines).values()) < len(turns):  # noqa: ASYNC110 - no bell
                    await asyncio.sleep(0.05)
            plant.embedded.revive(POSTGRES_VAULT)
            async with asyncio.timeout(60):
                while {await outcome(plant, scope, turn.turn_id) for turn in turns} != {(("accept", 1),)}:  # noqa: ASYNC110 - no bell
                    await asyncio.sleep(0.05)
    async with plant.owner() as connection:
        assert await connection.fetchval("select count(*) from ops.dead_letter") == 0


def postponed(lines: "list[MutableMapping[str, Any]]") -> Counter[str]:
    """Count by entry how often a delivery was taken back."""
    return Counter(line["entry"] for line in lines if line["event"] == "delivery_postponed")


async def outcome(plant: Plant, scope: Scope, turn: str) -> tuple[tuple[str, int], ...]:
    """Say with which counts a turn ended; nothing while it has not."""
    found = await plant.composition.backend.catalogue.outcome(scope, turn)
    assert found is not None
    return tuple(sorted((found.counts or {}).items()))
