"""Many workers consider turns of one person at once: what was said and when decides, not who was first."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from random import Random

import pytest

from events.errors import ConcurrencyError
from events.model import Position, Scope
from services.wire.memories import MemoryStatus
from tests.plant import START, Plant, planted


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run servers of this module's own."""
    async with planted(tmp_path_factory.mktemp("concurrent")) as plant:
        yield plant


async def stored(plant: Plant, scope: Scope, *said: tuple[str, int]) -> list[Position]:
    """Store turns that were said so many minutes after the start."""
    return [
        await plant.placed(scope, plant.turn(text, "好的。", at=START + timedelta(minutes=minutes)))
        for text, minutes in said
    ]


async def contents(plant: Plant, scope: Scope, status: MemoryStatus) -> list[str]:
    await plant.follow()
    page = await plant.composition.backend.memories(scope, status, 100, None)
    return sorted(each.value or "" for each in page.memories)


async def consider(plant: Plant, positions: list[Position], workers: int = 2) -> None:
    """Let so many rememberers consider them, as worker processes would; a lost race is delivered again."""
    others = [plant.another() for _ in range(workers - 1)]
    each = [plant.rememberer, *(other.rememberer for other in others)]

    async def one(number: int, position: Position) -> None:
        while True:
            try:
                await each[number % workers].consider(position)
            except ConcurrencyError:
                continue
            return

    try:
        await asyncio.gather(*(one(number, position) for number, position in enumerate(positions)))
    finally:
        for other in others:
            await other.close()


async def test_twenty_identical_candidates_at_once_are_one_memory(plant: Plant) -> None:
    """One memory and nineteen reinforcements, not twenty duplicates."""
    scope = await plant.person()
    await consider(plant, await stored(plant, scope, *(("我住在苏州", minute) for minute in range(20))))
    types = Counter(event.type for event in await plant.stream(scope))
    assert (types["accepted"], types["reinforced"], types["turn_considered"]) == (1, 19, 20)
    assert await contents(plant, scope, MemoryStatus.ACTIVE) == ["苏州"]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
async def test_contradictions_from_several_workers_leave_the_newest(plant: Plant, order: Sequence[int]) -> None:
    """However the turns arrive and whoever considers them first, what was said last is the one current memory."""
    scope = await plant.person()
    said = [(f"我住在{('苏州', '宁波', '杭州', '成都')[minute]}", minute) for minute in order]
    await consider(plant, await stored(plant, scope, *said))
    assert await contents(plant, scope, MemoryStatus.ACTIVE) == ["成都"]
    assert await contents(plant, scope, MemoryStatus.IN_CONFLICT) == []


async def test_random_orders_over_three_workers_end_alike(plant: Plant) -> None:
    """Seven turns that flip, repeat and contradict, in five orders over three workers each: one outcome, by time."""
    said = [
        ("我住在苏州", 0),
        ("我喜欢喝抹茶", 1),
        ("我住在宁波", 2),
        ("我不喜欢喝抹茶", 3),
        ("我住在苏州", 4),
        ("我喜欢喝抹茶", 5),
        ("我住在苏州", 6),
    ]
    random, outcomes = Random(20), set()  # noqa: S311 - orders to try, reproducible
    for _ in range(5):
        scope, order = await plant.person(), random.sample(said, len(said))
        positions = await stored(plant, scope, *order)
        await consider(plant, random.sample(positions, len(positions)), workers=3)
        current = tuple(await contents(plant, scope, MemoryStatus.ACTIVE))
        outcomes.add((current, tuple(await contents(plant, scope, MemoryStatus.IN_CONFLICT))))
    assert outcomes == {(("抹茶", "苏州"), ())}
