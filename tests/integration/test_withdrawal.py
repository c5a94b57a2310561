"""Consent that was withdrawn: seven days blind, then forgotten as anything else is (R22)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from events.model import Scope
from services.upkeep.job import Plan
from services.upkeep.round import Round
from services.upkeep.withdrawal import GRACE, Withdrawal
from services.wire.memories import MemoryStatus
from tests.plant import Plant, planted

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run servers of this module's own."""
    async with planted(tmp_path_factory.mktemp("withdrawal")) as plant:
        yield plant


async def upkeep(plant: Plant, scope: Scope, after: timedelta) -> list[Plan]:
    """Do a round of this job alone so long after now; return what it did for one person."""
    (job,) = (job for job in plant.composition.tidying().jobs if isinstance(job, Withdrawal))
    done = [plan async for plan in Round(job).run(datetime.now(UTC) + after)]
    await plant.follow()
    return [plan for plan in done if plan.scope == scope]


async def kept(plant: Plant, scope: Scope) -> set[str]:
    page = await plant.composition.backend.memories(scope, None, 100, None)
    return {each.content or "" for each in page.memories if each.status is not MemoryStatus.FORGOTTEN} - {""}


async def test_after_seven_days_it_is_forgotten_with_receipts(plant: Plant) -> None:
    """Not a day before; held ones and every version go, other classes and what is no such class stay; once."""
    scope, backend = await plant.person(), plant.composition.backend
    await plant.say(scope, "请记住我对花生过敏。")
    await plant.say(scope, "我去年查出来有青光眼。")  # held
    await plant.say(scope, "请记住我月薪一万八。")
    await plant.remember(scope, "我喜欢弹古琴。")
    await backend.consent(scope, "health", given=False)
    assert await upkeep(plant, scope, GRACE - DAY) == []
    (plan,) = await upkeep(plant, scope, GRACE + DAY)
    assert plan.counts() == {"forget:consent_withdrawn": 2}
    stones = [each for each in await plant.stream(scope) if each.event.type == "tombstoned"]
    assert len(stones) == 2
    for stone in stones:
        receipt = await plant.finish(scope, stone.event_id, registry=plant.composition.registry)
        assert receipt.decision == "deletion_propagated"
    left = " ".join(await kept(plant, scope))
    assert "花生" not in left
    assert "青光眼" not in left
    assert "古琴" in left
    assert await upkeep(plant, scope, GRACE + 2 * DAY) == []


async def test_given_again_in_time_keeps_everything(plant: Plant) -> None:
    """Only the last word on a class counts, and its time begins anew with every withdrawal."""
    scope, backend = await plant.person(), plant.composition.backend
    await plant.say(scope, "请记住我对芒果过敏。")
    await backend.consent(scope, "health", given=False)
    await backend.consent(scope, "health", given=True)
    assert await upkeep(plant, scope, GRACE + DAY) == []
    assert any("芒果" in each for each in await kept(plant, scope))
