"""Where a memory is: the layers' own raw probes answer, for what lives, what is forgotten and what never was."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import pytest

from events.errors import UnavailableError
from events.model import MemoryId, Scope
from ops.embedded import VALKEY
from services.forgetting import where
from services.forgetting.where import Location
from services.wire.where import PlaceView, WhereView
from tests.plant import Plant, planted
from workers.erase import locate

STORES = {"facts", "keyword_index", "vector_index", "log_bodies", "vault_keys", "recent_turns"}


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


@asynccontextmanager
async def answering(plant: Plant) -> AsyncIterator[None]:
    """Run the loop of the erasing worker that answers."""
    worker = asyncio.create_task(locate(plant.composition.locator, plant.composition.log("eraser").url))
    try:
        yield
    finally:
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker


async def places(plant: Plant, scope: Scope, memory: MemoryId) -> tuple[WhereView, dict[str, PlaceView]]:
    found = await plant.composition.backend.where(scope, memory)
    assert found is not None
    return found, {each.layer: each for each in found.layers}


async def test_every_layer_says_what_it_holds_and_at_which_version(plant: Plant) -> None:
    """Each store that holds it says so with version, position and its readers; after the forget none does."""
    scope, stranger = await plant.person(), await plant.person()
    memory = await plant.remember(scope, "请记住：我喜欢吃辣。", "好的。")
    assert await plant.remember(scope, "我现在不喜欢吃辣了。", "好的。") == memory
    async with answering(plant):
        found, layers = await places(plant, scope, memory)
        assert {name for name, each in layers.items() if each.holds} == STORES
        assert {name: layers[name].versions for name in ("facts", "keyword_index", "vector_index")} == {
            "facts": (1, 2),
            "keyword_index": (2,),
            "vector_index": (2,),
        }
        assert all((layers[name].position or 0) > 0 for name in ("facts", "keyword_index", "vector_index"))
        assert found.readers == ("person", "agent")
        assert "cenotaph_reader" in layers["facts"].readers
        assert "cenotaph_appender" not in layers["facts"].readers
        assert layers["vault_keys"].readers == ("vault_eraser", "vault_keeper", "vault_opener", "vault_roller")
        assert "辣" not in found.model_dump_json()

        assert await plant.composition.backend.where(stranger, memory) is None
        assert await plant.composition.backend.where(scope, MemoryId(uuid4())) is None

        receipt = await plant.forget(scope, memory)
        await plant.follow()
        await plant.until(scope, receipt)
        found, layers = await places(plant, scope, memory)
        assert (found.status, found.readers) == ("forgotten", ())
        assert {name for name, each in layers.items() if each.holds is not False} == set()


async def test_a_layer_that_keeps_it_is_named_and_one_that_is_down_is_not_known(plant: Plant) -> None:
    """A row that stays behind after the receipt is found by its id; a store that does not answer is no absence."""
    scope = await plant.person()
    memory = await plant.remember(scope, "I live in Suzhou.", "OK.")
    receipt = await plant.forget(scope, memory)
    async with plant.owner() as connection:
        row = await connection.fetchrow("select * from keywords.entry where memory_id = $1", memory)
        assert row is not None
    await plant.follow()
    await plant.until(scope, receipt)
    async with plant.owner() as connection:
        places = ", ".join(f"${place}" for place in range(1, len(row) + 1))
        await connection.execute(f"insert into keywords.entry values ({places})", *row.values())  # noqa: S608 - numbers
    await plant.kill(VALKEY)
    found = await plant.composition.locator.locate(scope, memory)
    assert found is not None
    assert holding(found, holds=True) == {"keyword_index"}
    assert holding(found, holds=None) == {"async_queue"}
    plant.embedded.revive(VALKEY)


def holding(found: tuple[Location, ...], *, holds: bool | None) -> set[str]:
    return {each.finding.layer for each in found if each.holds is holds}


async def test_without_an_erasing_worker_the_answer_is_that_nobody_answers(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A door that gets no answer says so, and never that nothing holds it; the question is answered to nobody else."""
    scope, stranger = await plant.person(), await plant.person()
    memory = await plant.remember(scope, "I live in Suzhou.", "OK.")
    monkeypatch.setattr(where, "_WITHIN_S", 0.2)
    with pytest.raises(UnavailableError):
        await plant.composition.backend.where(scope, memory)
    assert await plant.composition.locator.step() >= 1
    for owner, count in ((scope, 1), (stranger, 0)):
        async with plant.composition.log("reader").transaction(owner) as connection:
            assert await connection.fetchval("select count(*) from ops.locating") == count
