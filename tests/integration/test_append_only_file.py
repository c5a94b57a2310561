"""What came by XADD leaves the append-only file of a real server: at a forget, by the worker, and never for nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
import redis.asyncio as redis

from events.model import LayerFinding, MemoryId, Position, Scope, SubjectId, TenantId
from services.access.rights import TokenRole
from services.forgetting.append_only import AppendOnlyFile
from services.forgetting.question import Question
from services.forgetting.queues import QueueProbe
from services.residue.needle import Needle
from services.residue.search import search_files
from tests.plant import Plant, planted
from workers.jobs import TURNS
from workers.rewrite import rewrite


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


@pytest.fixture
async def client(plant: Plant) -> AsyncIterator["redis.Redis"]:
    """Give a client of a producer in any language."""
    client = redis.from_url(plant.composition.endpoints.redis_url)
    yield client
    await client.aclose()


@pytest.fixture
def files(plant: Plant) -> Path:
    """Name the folder of the server's files."""
    return plant.composition.settings.data / "valkey"


def token(plant: Plant, scope: Scope) -> str:
    return plant.composition.tokens.issue(scope, TokenRole.AGENT, timedelta(minutes=5))[0]


async def hand_over(plant: Plant, client: "redis.Redis", *entries: dict[str, str]) -> None:
    """Put entries on the stream and have the worker take them all."""
    delivery = plant.composition.delivery(plant.composition._turns().route())
    await delivery.start()
    for fields in entries:
        await client.xadd(TURNS, fields)  # type: ignore[arg-type]
    async with asyncio.timeout(90):
        while await client.xlen(TURNS):  # noqa: ASYNC110 - what another server does rings no bell
            await asyncio.sleep(0.02)
    await delivery.stop()


async def gone(files: Path, *needles: Needle) -> None:
    """Wait until the server has removed the old files, which it does in a thread of its own."""
    async with asyncio.timeout(90):
        while search_files(files, needles).found:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.05)


async def rewrites(client: "redis.Redis") -> int:
    return int((await client.info("persistence"))["aof_rewrites"])


async def asked(url: str) -> LayerFinding:
    """Ask the probe about nothing in particular."""
    probe = QueueProbe(url)
    scope = Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))
    question = Question(
        scope=scope, forgotten_at=datetime.now(UTC), memories=(MemoryId(uuid4()),), messages=(), keys=(), turns=()
    )
    found = await probe.ask(question)
    await probe.close()
    return found


async def test_a_forget_takes_the_words_out_of_the_file(plant: Plant, client: "redis.Redis", files: Path) -> None:
    """A turn that came by XADD lies in the file until its memory is forgotten, and in none once that is signed."""
    scope, word = await plant.person(), f"amber{uuid4().hex[:8]}"
    turn = plant.turn(f"Remember: I like {word} tea.", "Noted.", at=datetime.now(UTC))
    await hand_over(plant, client, {"token": token(plant, scope), "turn": turn.model_dump_json(by_alias=True)})
    assert search_files(files, [Needle(word)]).found
    await plant.sealed()
    (stored,) = await plant.turns(scope)
    await plant.rememberer.consider(stored.position or Position(0))
    await plant.follow()
    outcome = await plant.composition.backend.catalogue.outcome(scope, turn.turn_id)
    assert outcome is not None
    receipt = await plant.forget(scope, outcome.verdicts[0].memory_id)
    await plant.follow()
    shown = await plant.until(scope, receipt)
    assert shown.decision == "deletion_propagated"
    assert {layer.layer: layer.state for layer in shown.layers}["async_queue"] == "drained"
    await gone(files, Needle(word))


async def test_the_worker_takes_refused_words_out_without_a_forget(
    plant: Plant, client: "redis.Redis", files: Path
) -> None:
    """What a malformed turn or a bad token held leaves the file by the worker alone; until then it is unreclaimed."""
    scope, secret, stranger = await plant.person(), f"hunter{uuid4().hex[:8]}", f"琥珀{uuid4().hex[:8]}"
    needles = Needle(secret), Needle(stranger)
    await hand_over(
        plant,
        client,
        {"token": token(plant, scope), "turn": f'{{"password": "{secret}"}}'},
        {"token": "none", "turn": stranger},
    )
    url = plant.composition.endpoints.redis_url
    assert len({find.needle for find in search_files(files, needles).found}) == len(needles)
    assert (await asked(url)).state == "unreclaimed"
    working = asyncio.create_task(rewrite(plant.composition.append_only_file, 60))
    await gone(files, *needles)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    assert await plant.composition.append_only_file.reclaim()
    assert (await asked(url)).state == "drained"


async def test_what_came_over_http_costs_no_rewrite(plant: Plant, client: "redis.Redis") -> None:
    """Without an entry since the last rewrite a forget asks for none, and the queue is drained."""
    assert await plant.composition.append_only_file.reclaim()
    scope, before = await plant.person(), await rewrites(client)
    receipt = await plant.forget(scope, await plant.remember(scope, "我住在苏州", "好的。"))
    await plant.follow()
    shown = await plant.finish(scope, receipt)
    assert {layer.layer: layer.state for layer in shown.layers}["async_queue"] == "drained"
    assert await rewrites(client) == before


async def test_many_who_ask_at_once_share_a_rewrite(plant: Plant, client: "redis.Redis") -> None:
    """Twenty forgets at once cost one rewrite, or two where entries came meanwhile."""
    before = await rewrites(client)
    await hand_over(plant, client, {"token": "none", "turn": "茶"})
    assert all(await asyncio.gather(*(plant.composition.append_only_file.reclaim() for _ in range(20))))
    assert before < await rewrites(client) <= before + 2


async def test_an_entry_that_waits_keeps_the_file_unreclaimed(plant: Plant, client: "redis.Redis") -> None:
    """While something lies on the stream a rewrite would copy it, so none is asked for and nothing is claimed."""
    await client.xadd(TURNS, {"token": "none", "turn": "等待的茶"})
    before = await rewrites(client)
    assert not await plant.composition.append_only_file.reclaim()
    assert await rewrites(client) == before
    assert (await asked(plant.composition.endpoints.redis_url)).state == "unreclaimed"
    await hand_over(plant, client)
    assert await plant.composition.append_only_file.reclaim()


@pytest.mark.parametrize("why", ["refused", "off"])
async def test_a_server_that_does_not_rewrite_is_never_called_drained(
    plant: Plant, client: "redis.Redis", why: str
) -> None:
    """Where the server refuses the command, or has no such file, the state stays unreclaimed; nothing fails."""
    url = plant.composition.endpoints.redis_url
    await hand_over(plant, client, {"token": "none", "turn": "茶"})
    if why == "refused":
        await client.acl_setuser(
            "limited",
            enabled=True,
            passwords=["+pass"],
            keys=["*"],
            categories=["+@all"],
            commands=["-bgrewriteaof"],
        )
        url = url.replace("unix://", "unix://limited:pass@")
    else:
        await client.config_set("appendonly", "no")
    file = AppendOnlyFile(url)
    try:
        assert not await file.reclaim()
        assert (await asked(url)).state == "unreclaimed"
    finally:
        await file.close()
        await client.config_set("appendonly", "yes")
