"""A sealed body that cannot be read hides itself and nothing else: not from followers, not from readers (R3, R71)."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from events.model import MemoryId, Scope
from tests.plant import MODELS, Plant, planted


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def flip(plant: Plant, scope: Scope) -> None:
    """Flip a byte of every sealed part of a memory."""
    await change(
        plant, scope, "update log.body set ciphertext = set_byte(ciphertext, 20, get_byte(ciphertext, 20) # 1)"
    )


async def cut(plant: Plant, scope: Scope) -> None:
    """Cut every sealed part of a memory short."""
    await change(plant, scope, "update log.body set ciphertext = substring(ciphertext for 5)")


async def remove(plant: Plant, scope: Scope) -> None:
    """Take every sealed part of a memory away."""
    await change(plant, scope, "delete from log.body")


async def change(plant: Plant, scope: Scope, statement: str) -> None:
    (event,) = [each.event_id for each in await plant.stream(scope) if each.type == "accepted"]
    async with plant.owner() as connection, connection.transaction():
        await connection.execute("set local session_replication_role = replica")
        await connection.execute(f"{statement} where event_id = $1", event)


@pytest.mark.parametrize("harm", [flip, cut, remove])
async def test_a_body_that_cannot_be_read_stops_nobody(
    plant: Plant, harm: Callable[[Plant, Scope], Awaitable[None]]
) -> None:
    """Every follower goes on, live and in a rebuild; it is noted, logged, shown as a stone; others are recalled."""
    scope = await plant.person()
    broken = await accept(plant, scope, "我住在苏州")
    await harm(plant, scope)
    other = await plant.person()
    healthy = await accept(plant, other, "I live in Utrecht.")
    with capture_logs() as logs:
        await plant.follow()
        for name in MODELS:
            await plant.rebuild(name)
        sibling = await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "好的。")
        assert set(await plant.recalled(scope, "介绍一下我")) == {sibling}
    assert "body_tampered" in {each["event"] for each in logs}
    assert "苏州" not in str(logs)
    assert set(await plant.recalled(other, "where do I live?")) == {healthy}
    page = await plant.composition.backend.memories(scope, None, 100, None)
    assert {each.memory_id: each.content is None for each in page.memories} == {broken: True, sibling: False}
    async with plant.owner() as connection:
        noted = await connection.fetch(
            "select u.what from read_model.unreadable u join log.event e using (event_id) where e.subject_id = $1",
            scope.subject_id,
        )
        position = await connection.fetchval(
            "select min(position) from read_model.checkpoint where name = any($1)", list(MODELS)
        )
        assert position == await connection.fetchval("select size - 1 from log.head")
    assert [row["what"] for row in noted] == ["tampered"]


async def accept(plant: Plant, scope: Scope, said: str) -> MemoryId:
    """Say something that becomes a memory before any read model follows."""
    position = await plant.placed(scope, turn := plant.turn(said, "好的。"))
    await plant.rememberer.consider(position)
    found = await plant.composition.backend.catalogue.outcome(scope, turn.turn_id)
    assert found is not None
    (verdict,) = found.verdicts
    return verdict.memory_id
