"""Sessions that are over, on a whole system: proposed once, judged by the gates, gone with their sources (R53)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from events.envelope import summary_stream
from events.log import read_stream
from events.model import MemoryId, Scope, SessionConsolidated, SessionId, TurnFinalized
from services.access.rights import TokenRole
from services.summaries.consolidate import Consolidate
from services.upkeep.job import Plan
from services.upkeep.round import Round
from services.upkeep.rules import shipped_rules
from services.wire.memories import MemoryStatus, MemoryView
from services.wire.receipts import What
from tests.plant import Plant, planted

LATER = datetime.now(UTC) + timedelta(hours=9)


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of its own."""
    async with planted(tmp_path_factory.mktemp("consolidation")) as plant:
        yield plant


def job(plant: Plant) -> Consolidate:
    parts = plant.composition
    pools = (parts.log("eraser"), parts.log("appender"), parts.log("reader"))
    return Consolidate(pools, parts.vault("keeper"), shipped_rules(), 30)


async def consolidate(plant: Plant, scope: Scope) -> list[Plan]:
    """Do a round, and let the rememberer consider what it proposes."""
    plans = [plan async for plan in Round(job(plant)).run(LATER) if plan.scope == scope]
    await plant.follow()
    for turn in await plant.turns(scope):
        assert turn.position is not None
        await plant.rememberer.consider(turn.position)
    await plant.follow()
    return plans


async def kept(plant: Plant, scope: Scope) -> dict[str, MemoryView]:
    page = await plant.composition.backend.memories(scope, MemoryStatus.ACTIVE, 100, None, reader=TokenRole.PERSON)
    return {each.content or "": each for each in page.memories}


async def made(plant: Plant, scope: Scope) -> list[TurnFinalized]:
    turns = [each.event for each in await plant.turns(scope)]
    return [turn for turn in turns if isinstance(turn, TurnFinalized) and turn.rests_on]


async def texts(plant: Plant, scope: Scope) -> int:
    """Count the sealed texts of turns that upkeep made."""
    async with plant.owner() as connection:
        names = [f"message:{head.message_id}" for turn in await made(plant, scope) for head in turn.messages]
        count: int = await connection.fetchval("select count(*) from log.body where part = any($1::text[])", names)
    return count


async def test_a_session_is_consolidated_once_and_only_when_it_is_over(plant: Plant) -> None:
    """The dry run says what a round does; the gates keep the episode with its sources; again nothing is due."""
    scope = await plant.person()
    await plant.say(scope, "帮我订周五去杭州的高铁", "好的。")
    await plant.say(scope, "那就定9:15的G7", "订好了。")
    soon = [plan async for plan in Round(job(plant)).plans(datetime.now(UTC)) if plan.scope == scope]
    planned = [plan async for plan in Round(job(plant)).plans(LATER) if plan.scope == scope]
    assert (soon, [plan.counts() for plan in planned]) == ([], [{"consolidate:quiet": 3}])
    assert await made(plant, scope) == []
    assert await consolidate(plant, scope) == planned
    episode = (await kept(plant, scope))["帮我订周五去杭州的高铁 → 那就定9:15的G7 (decided)"]
    assert (episode.kind, len(episode.sources)) == ("episode", 2)
    before = await plant.stream(scope)
    assert await consolidate(plant, scope) == []
    assert await plant.stream(scope) == before
    await plant.say(scope, "We agreed to meet at the station at eight", "Noted.")
    await plant.say(scope, "谢谢", "不客气。")
    await consolidate(plant, scope)
    keyring = await plant.composition.vault("keeper").keyring(scope)
    session = SessionId((await keyring.intern([("session", "s1")]))["session", "s1"])
    async with plant.owner() as connection:
        stream = await read_stream(connection, scope, summary_stream(session))
    done = [each.event for each in stream if isinstance(each.event, SessionConsolidated)]
    assert len(done) == 2
    assert done[0].through < done[1].through


async def test_what_is_forgotten_takes_along_what_was_made_of_it(plant: Plant) -> None:
    """Forgetting one of the messages forgets the episode and purges its text, whether it was judged by then or not."""
    scope = await plant.person()
    backend = plant.composition.backend
    first = plant.turn("帮我订去大理的航班", "好的。")
    await plant.rememberer.consider(await plant.placed(scope, first))
    await plant.say(scope, "那就定早班机", "好的。")
    await plant.say(scope, "帮我选一家酒店", "好的。")
    await plant.say(scope, "那就选湖边那家", "好的。")
    async for _ in Round(job(plant)).run(LATER):  # proposed, not judged
        pass
    await plant.follow()
    assert await texts(plant, scope) == 2
    what = What.model_validate({"message": {"turn_id": first.turn_id, "message_id": "m0"}})
    receipt = await backend.forget_what(scope, what)
    assert receipt is not None
    await consolidate(plant, scope)
    assert [each for each in await kept(plant, scope) if "→" in each] == ["帮我选一家酒店 → 那就选湖边那家 (decided)"]
    (episode,) = [each for content, each in (await kept(plant, scope)).items() if "→" in content]
    await plant.until(scope, receipt.receipt_id)
    assert await texts(plant, scope) == 1

    tombstone = await plant.forget(scope, MemoryId(episode.memory_id))  # and the other way round: with its sources
    await plant.follow()
    await plant.until(scope, tombstone)
    assert await texts(plant, scope) == 0
    gone = (await plant.tombstone(scope, tombstone)).event
    rested = {message for turn in await made(plant, scope) for message in turn.rests_on}
    assert len(rested & set(getattr(gone, "messages", ()))) == 2


async def test_what_is_set_aside_or_said_meanwhile_is_not_consolidated(plant: Plant) -> None:
    """A sentence whose memory is suspended is not read; a choice between plan and act makes the round wait."""
    scope = await plant.person()
    await plant.say(scope, "帮我选一家健身房", "好的。")
    memory = await plant.remember(scope, "请记住：我不吃牛肉。那就选港口那家。", "好的。")
    (plan,) = [plan async for plan in Round(job(plant)).plans(LATER) if plan.scope == scope]
    assert plan.counts() == {"consolidate:quiet": 3}
    await plant.composition.backend.suspend(scope, memory, suspended=True)
    await plant.follow()
    assert not await job(plant).apply(plan, LATER)
    (plan,) = await consolidate(plant, scope)
    assert plan.counts() == {"consolidate:nothing_found": 1}
    assert await made(plant, scope) == []
