"""What recall opens is bounded by what may matter, and a search opens each body once."""

from collections.abc import AsyncIterator, Collection

import pytest

import services.recall.opening as module
from events.errors import BadInputError, BehindError
from events.keyring import Keyring
from events.model import EventId
from events.postgres import Connection
from ops import backend
from projections.changes import Fact
from projections.memories import open_memories
from services.api.errors import refusal_of
from services.governance.policy import shipped_policy
from services.recall.blend import Blend
from services.recall.contexts import Contexts
from services.recall.recall import Recall
from services.wire.recall import SearchRequest
from tests.plant import Plant, planted


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def test_a_word_that_stands_everywhere_opens_no_more_than_the_hints(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of twelve memories that share it the best by score are opened, and once; the exact one is among them, first."""
    scope = await plant.person()
    ids = [await plant.remember(scope, f"请记住：我喜欢{number}号茶。", "好的。") for number in range(12)]
    opened: list[EventId] = []

    async def counted(connection: Connection, keyring: Keyring, facts: Collection[Fact]) -> object:
        opened.extend(fact.event_id for fact in facts)
        return await open_memories(connection, keyring, facts)

    monkeypatch.setattr(module, "open_memories", counted)
    request = SearchRequest.model_validate({"query": "我喜欢7号茶", "role": "chat"})
    parts = plant.composition
    reader, keeper = parts.log("reader"), parts.vault("keeper")
    few = Recall(reader, keeper, parts.vectors, parts.models, parts.recall_cache, Blend(hints=3, seeds=3))
    found = await Contexts(reader, keeper, few, shipped_policy()).search(scope, request)
    assert found.memories[0].memory_id == ids[7]
    assert found.memories[0].content is not None
    assert 3 <= len(opened) == len(set(opened)) <= 6


async def test_a_reinforced_memory_is_fresh_from_when_it_was_said_last(plant: Plant) -> None:
    """The lease counts from the last time the person said it, not from the first, and not from an older repetition."""
    scope = await plant.person()
    first = plant.turn("我住在苏州").occurred_at
    memory = await plant.remember(scope, "我住在苏州", "好的。")
    later = plant.turn("x").occurred_at
    await plant.say(scope, "我现在住在苏州", at=later)
    await plant.say(scope, "我现在住在苏州", at=first)
    found = await plant.composition.recall.recall(scope, "我住在哪里")
    assert [(each.fact.memory_id, each.fact.reinforced, each.fact.verified_at) for each in found.recalled] == [
        (memory, 2, later)
    ]


@pytest.mark.parametrize("beyond", [0, 10**6])
async def test_a_position_beyond_the_log_is_refused_at_once(
    plant: Plant, monkeypatch: pytest.MonkeyPatch, beyond: int
) -> None:
    """What no waiting can bring is the caller's error; how long the log is, which is everybody's, it does not say."""
    scope = await plant.person()
    position = await plant.placed(scope, plant.turn("我喜欢乌龙", "好的。"))
    await plant.sealed()
    async with plant.owner() as connection:
        size = await connection.fetchval("select size from log.head")
    monkeypatch.setattr(backend, "_REACH_S", 0.05)
    for position, problem in ((size + beyond, BadInputError), (size - 1, BehindError)):
        request = SearchRequest.model_validate({"query": "乌龙", "role": "chat", "at_least": position})
        with pytest.raises(problem, match=str(position)) as refused:
            await plant.composition.backend.search(scope, request)
        refusal = refusal_of(refused.value)
        assert refusal is not None
        assert refusal.problem.status == (503 if problem is BehindError else 422)
        assert "a store does not answer" not in refusal.problem.detail
        if problem is BadInputError:
            assert refusal.problem.detail == f"at_least: position {position} is beyond the end of the log"
    await plant.follow()
    assert await plant.composition.backend.search(scope, request)
