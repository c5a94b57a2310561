import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from events.envelope import summary_stream
from events.log import read_stream
from events.model import MemoryId, Scope, SessionId, SummaryHeld, SummaryWritten, TenantId
from projections.follower import Follower
from services.summaries.draft import Draft, Drafter, Material
from services.summaries.expiry import SummaryExpiry
from services.summaries.rules import Rules
from services.summaries.summaries import Summaries
from services.upkeep.round import Round
from services.wire.recall import ContextRequest
from tests.endpoint import saying
from tests.integration.test_model_summaries import drafting
from tests.plant import Plant, planted


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of its own."""
    async with planted(tmp_path_factory.mktemp("summaries")) as plant:
        yield plant


async def session_of(plant: Plant, scope: Scope) -> SessionId:
    keyring = await plant.composition.vault("keeper").keyring(scope)
    return SessionId((await keyring.intern([("session", "s1")]))["session", "s1"])


async def refresh(plant: Plant, scope: Scope, every: int = 1, drafter: Drafter | None = None) -> str:
    parts = plant.composition
    writer = Summaries(parts.vault("keeper"), parts.log("appender"), parts.log("reader"), drafter or Rules(), days=30)
    outcome = await writer.refresh(scope, await session_of(plant, scope), every=every)
    await plant.follow("sessions")
    return outcome


async def shown(plant: Plant, scope: Scope) -> tuple[str, ...]:
    """Return the lines of the summary in a context."""
    asked = ContextRequest.model_validate({"query": "周报", "role": "chat", "session_id": "s1", "token_budget": 2000})
    answer = await plant.composition.backend.contexts.compile(scope, asked)
    return next((each.lines for each in answer.sections if each.name == "summary"), ())


async def test_a_session_is_summed_up_in_slots(plant: Plant) -> None:
    """After enough turns there is a summary, in its own section, that says what binds; once more changes it."""
    scope = await plant.person()
    await plant.say(scope, "帮我写一份销售周报", "好的。")
    await plant.say(scope, "预算不能超过3000元", "明白。")
    assert await refresh(plant, scope, every=3) == "not_due"
    memory = await plant.remember(scope, "请记住：我不吃牛肉", "好的。")
    assert await refresh(plant, scope, every=3) == "written"
    assert await shown(plant, scope) == (
        "- [goal] 帮我写一份销售周报",
        "- [constraint] 预算不能超过3000元",
        "- [fact] 不吃牛肉",
    )
    asked = ContextRequest.model_validate({"query": "x", "role": "chat", "session_id": "s1"})
    context = await plant.composition.backend.contexts.compile(scope, asked)
    async with plant.owner() as connection:
        read = await connection.fetchval("select memories from ops.read where read_id = $1", context.context_id)
    assert memory in {MemoryId(each) for each in read}
    await plant.say(scope, "预算不能超过5000元", "明白。")
    assert await refresh(plant, scope) == "written"
    assert "- [constraint] 预算不能超过5000元" in await shown(plant, scope)
    assert "- [constraint] 预算不能超过3000元" not in await shown(plant, scope)
    await plant.composition.shredder.catch_up()
    async with plant.owner() as connection:  # only the newest one's texts are left
        left = await connection.fetchval(
            "select count(*) from log.body where subject_id = $1 and part like 'item:%'", scope.subject_id
        )
    assert left == len(await shown(plant, scope))


class Forgetful:
    """A drafter that loses everything."""

    async def draft(self, tenant: TenantId, material: Material) -> Draft:
        """Write nothing."""
        del tenant, material
        return Draft((), "forgetful/1")


async def test_a_summary_that_lost_a_constraint_is_held(plant: Plant) -> None:
    """Whoever drafts it: a constraint that vanished keeps the old summary in its place, and the log says why."""
    scope = await plant.person()
    await plant.say(scope, "Never send the report before Friday.", "Fine.")
    assert await refresh(plant, scope) == "written"
    before = await shown(plant, scope)
    await plant.say(scope, "What about the figures?", "I will look.")

    assert await refresh(plant, scope, drafter=Forgetful()) == "held"
    assert await shown(plant, scope) == before
    async with plant.owner() as connection:
        stream = await read_stream(connection, scope, summary_stream(await session_of(plant, scope)))
    held = stream[-1].event
    assert isinstance(held, SummaryHeld)
    assert (held.reasons, held.writer) == ({"constraint_vanished": 1}, "forgetful/1")


async def test_what_is_forgotten_leaves_the_summary_at_once(plant: Plant) -> None:
    """14: lines that rest on it go with the tombstone, the receipt names the layer, a new summary has it not."""
    scope = await plant.person()
    memory = await plant.remember(scope, "请记住：我的工位在三楼靠窗，不要告诉别人", "好的。")
    await plant.say(scope, "预算不能超过3000元", "好的。")
    assert await refresh(plant, scope) == "written"
    assert any("三楼" in line for line in await shown(plant, scope))
    receipt = await plant.forget(scope, memory)
    assert await shown(plant, scope) == ("- [constraint] 预算不能超过3000元",)
    await plant.follow()
    done = await plant.until(scope, receipt)
    assert done.decision == "deletion_propagated"
    assert {layer.layer: layer.state for layer in done.layers}["summary_store"] == "absent"
    await plant.say(scope, "继续", "好的。")
    assert await refresh(plant, scope) == "written"
    assert not any("三楼" in line for line in await shown(plant, scope))


async def test_a_summary_that_keeps_saying_it_keeps_the_receipt_pending(plant: Plant) -> None:
    """Control: a layer that destroys no line of a summary that rests on another message is found out by the probe."""
    scope = await plant.person()
    memory = await plant.remember(scope, "请记住：我的工位在三楼靠窗", "好的。")
    content = (await plant.recalled(scope, "工位"))[memory]
    # a turn that nobody has considered yet: no forget looks at its words
    late = await plant.placed(scope, plant.turn(f"帮我写一份说明，写明{content}", "好的。"))
    await plant.follow()
    assert await refresh(plant, scope) == "written"
    assert any(content in line for line in await shown(plant, scope))
    receipt = await plant.forget(scope, memory)
    await plant.follow()

    class Idle:
        name = "summary_store"

        async def erase(self, tombstone: object, question: object) -> None:
            del tombstone, question

    pending = await plant.finish(scope, receipt, registry=plant.registry(Idle()))
    assert pending.decision == "DELETION_PENDING"
    assert {layer.layer: layer.state for layer in pending.layers}["summary_store"] == "present"
    await plant.rememberer.consider(late)
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    assert not any(content in line for line in await shown(plant, scope))


async def test_of_writers_at_once_one_writes(plant: Plant) -> None:
    """Several workers that sum up one session write one summary; the others find that none is due."""
    scope = await plant.person()
    await plant.say(scope, "预算不能超过3000元", "好的。")
    outcomes = await asyncio.gather(*(refresh(plant, scope) for _ in range(5)))
    assert sorted(outcomes) == ["not_due"] * 4 + ["written"]


async def test_a_summary_ends_with_the_messages_it_rests_on(plant: Plant) -> None:
    """Upkeep ends its texts when its time is over, and says so beforehand; a rebuild and a comparison agree."""
    scope = await plant.person()
    await plant.say(scope, "预算不能超过3000元", "好的。")
    await refresh(plant, scope)
    expiry = Round(SummaryExpiry(plant.composition.log("eraser")))
    late = datetime.now(UTC) + timedelta(days=plant.composition.settings.message_days, seconds=9)
    assert [each async for each in expiry.plans()] == []
    counts = [each.counts() async for each in expiry.plans(late) if each.scope == scope]
    assert counts == [{"expire:time": 1}]
    assert await expiry.step(late) >= 1
    assert await shown(plant, scope) == ()  # although the session store lags
    await plant.follow("sessions")
    assert [each async for each in expiry.plans(late)] == []
    await Follower(plant.composition.projections()["sessions"], plant.composition.log(None)).rebuild()
    async for report in plant.composition.differ("sessions").run():
        assert (report.model, report.found) == ("sessions", 0)


async def test_a_model_writes_the_summary_and_the_log_says_so(plant: Plant) -> None:
    """What it writes well stands under its name; what turns a constraint is held, and the old summary stays."""
    scope = await plant.person()
    await plant.say(scope, "预算不能超过3000元", "好的。")
    lines = [{"slot": "constraint", "text": "预算不能超过3000元", "sources": [1, 2, 3]}]
    async with drafting(saying(json.dumps({"lines": lines}))) as drafter:
        assert await refresh(plant, scope, drafter=drafter) == "written"
    assert await shown(plant, scope) == ("- [constraint] 预算不能超过3000元",)
    await plant.say(scope, "继续", "好的。")
    lines = [{"slot": "constraint", "text": "预算不能超过8000元", "sources": [1, 2, 3]}]
    async with drafting(saying(json.dumps({"lines": lines}))) as drafter:
        assert await refresh(plant, scope, drafter=drafter) == "held"
    assert await shown(plant, scope) == ("- [constraint] 预算不能超过3000元",)
    async with plant.owner() as connection:
        stream = await read_stream(connection, scope, summary_stream(await session_of(plant, scope)))
    writers = [each.event.writer for each in stream if isinstance(each.event, SummaryWritten | SummaryHeld)]
    assert writers == ["model/1:tiny", "model/1:tiny"]
