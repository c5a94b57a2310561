"""Upkeep on a whole system: what it ends, what it never touches, what cools and comes back, and that it can be told."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from events.errors import BadInputError
from events.model import Expired, Kind, MemoryId, Scope
from ops.cli.upkeep import Line
from projections.facts import read_memories
from services.access.rights import TokenRole
from services.governance.gates.duplicate import duplicate
from services.governance.judge import GATES
from services.governance.policy import shipped_policy
from services.upkeep.job import Plan
from services.upkeep.leases import Leases
from services.upkeep.round import Round
from services.wire.memories import MemoryStatus
from services.wire.recall import ContextRequest, RecallRole
from tests.plant import START, Plant, planted

NOW = datetime.now(UTC)
SAID = (START - NOW).days + 1  # the day on which the people of a plant say things
LIKES = ("抹茶", "红茶", "乌龙茶", "白茶", "普洱", "花茶", "绿茶", "大麦茶")


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def likes(plant: Plant, scope: Scope, *things: str, asked: bool = False) -> list[MemoryId]:
    words = "请记住：我喜欢喝{}" if asked else "我喜欢喝{}"
    return [await plant.remember(scope, words.format(thing)) for thing in things]


async def done(plant: Plant, round_: Round, days: int = 0) -> list[Plan]:
    plans = [plan async for plan in round_.run(NOW + timedelta(days=days))]
    await plant.follow()
    await plant.composition.shredder.catch_up()
    return plans


def of(plans: list[Plan], scope: Scope) -> dict[str, int]:
    return {what: count for plan in plans if plan.scope == scope for what, count in plan.counts().items()}


async def cold(plant: Plant, scope: Scope, memories: list[MemoryId]) -> list[bool]:
    async with plant.composition.log("reader").transaction(scope) as connection:
        state = await read_memories(connection, scope, memories)
    return [state[memory, 1].cold for memory in memories]


async def near(plant: Plant, scope: Scope, text: str) -> set[MemoryId]:
    """Ask the vector index alone."""
    composition = plant.composition
    async with plant.owner() as connection:
        place = await connection.fetchval("select place from read_model.checkpoint where name = 'vectors'")
    vector = await composition.embedder.embed_query(text)
    return {hit.memory_id for hit in await composition.vectors.search(place, scope, vector, 50)}


async def agree(plant: Plant) -> None:
    """Every read model says what the log says."""
    async for report in plant.composition.differ().run():
        assert report.found == 0, report


async def test_room_is_made_of_what_is_worth_least_and_never_of_what_was_asked_for(plant: Plant) -> None:
    """A kind that is full loses what is worth least, keys and all; the dry run says so before and does nothing."""
    scope = await plant.person()
    asked = await likes(plant, scope, *LIKES[:2], asked=True)
    others = await likes(plant, scope, *LIKES[2:])
    await plant.say(scope, f"我喜欢喝{LIKES[2]}")  # said again: worth more than the younger ones
    tidying = plant.composition.tidying(capacity=shipped_policy().capacity | {Kind.PREFERENCE: 7})
    planned = [plan async for plan in tidying.plans(NOW)]
    before = await plant.stream(scope)
    assert of(planned, scope) == {"expire:capacity:preference": 2}
    assert await plant.stream(scope) == before
    assert of(await done(plant, tidying), scope) == of(planned, scope)
    (event,) = (each.event for each in await plant.stream(scope) if isinstance(each.event, Expired))
    assert (event.reason, set(event.memories) <= set(others[1:])) == ("capacity", True)
    assert not await plant.composition.vault("opener").present(event.keys)
    page = await plant.composition.backend.memories(scope, MemoryStatus.ACTIVE, 50, None)
    assert {*asked, others[0]} <= {each.memory_id for each in page.memories}
    assert not await near(plant, scope, "喜欢喝茶") & set(event.memories)
    assert of(await done(plant, tidying), scope) == {}
    line = json.loads(Line.of(planned[-1], done=False).model_dump_json())
    assert not [word for word in LIKES if word in json.dumps(line, ensure_ascii=False)]
    await agree(plant)


async def test_what_is_not_used_for_a_year_cools_and_comes_back_with_use(plant: Plant) -> None:
    """Its vector leaves the index, its words still find it; once an agent was given it the vector is there again."""
    scope = await plant.person()
    (asked,) = await likes(plant, scope, "咖啡", asked=True)
    (forgettable,) = await likes(plant, scope, "豆浆")
    tidying = plant.composition.tidying()
    assert of(await done(plant, tidying, days=400), scope) == {"cool:unused": 1}
    assert await cold(plant, scope, [asked, forgettable]) == [False, True]
    assert await near(plant, scope, "喜欢喝豆浆") == {asked}
    assert forgettable in await plant.recalled(scope, "豆浆")
    request = ContextRequest.model_validate({"query": "豆浆", "role": "chat", "session_id": "s1"})
    assert "豆浆" in (await plant.composition.backend.context(scope, request)).text
    again = of(await done(plant, tidying), scope)
    assert (again["warm:used"], again["use:read"] >= 1) == (1, True)
    assert await cold(plant, scope, [asked, forgettable]) == [False, False]
    assert await near(plant, scope, "喜欢喝豆浆") == {asked, forgettable}
    assert of(await done(plant, tidying), scope) == {}
    await agree(plant)


async def test_a_plan_fades_when_its_time_is_long_over(plant: Plant) -> None:
    """Kinds that fade end with a reason; what was asked for, and what holds until revoked, stays."""
    scope = await plant.person()
    (kept,) = await likes(plant, scope, "可可")
    outcome = await plant.say(scope, "我下周三去上海出差")
    (planned,) = (each.memory_id for each in outcome.verdicts if each.kind is Kind.PLAN)
    tidying = plant.composition.tidying()
    assert "expire:decayed:plan" not in of(await done(plant, tidying, days=100), scope)
    assert of(await done(plant, tidying, days=700), scope)["expire:decayed:plan"] == 1
    backend = plant.composition.backend
    details = [await backend.memory(scope, memory) for memory in (planned, kept)]
    assert [each and each.status for each in details] == [MemoryStatus.EXPIRED, MemoryStatus.ACTIVE]
    assert details[0] is not None
    assert (details[0].content, details[0].version) == (None, 1)
    await agree(plant)


async def test_memories_that_say_the_same_are_merged_and_can_be_separated(plant: Plant) -> None:
    """The dry run names them; the merged one is in no index, keeps its source, and is back with one command."""
    scope = await plant.person()
    first = await plant.remember(scope, "我喜欢喝姜茶")
    second = await _unseen(plant, scope, "我真的喜欢喝姜茶")
    other = await plant.remember(scope, "我喜欢喝姜汁")
    tidying = plant.composition.tidying()
    assert of(await done(plant, tidying, days=SAID), scope) == {"merge:says_the_same": 1}
    merged = {memory for memory in (first, second) if await _status(plant, scope, memory) is MemoryStatus.MERGED}
    (gone,) = merged
    (kept,) = {first, second} - merged
    assert {kept, other} == await near(plant, scope, "我喜欢喝姜茶吗")
    assert gone not in await plant.recalled(scope, "我喜欢喝姜茶吗")
    assert of(await done(plant, plant.composition.expiry, days=40), scope) == {}
    detail = await plant.composition.backend.memory(scope, gone)
    assert detail is not None
    assert [source.state for source in detail.sources] == ["readable"]
    await agree(plant)
    await plant.composition.separate(gone)
    await plant.follow()
    assert {first, second, other} == await near(plant, scope, "我喜欢喝姜茶吗")
    assert {first, second} <= (await plant.recalled(scope, "我喜欢喝姜茶吗")).keys()
    assert of(await done(plant, tidying, days=SAID), scope) == {}
    with pytest.raises(BadInputError, match="not merged"):
        await plant.composition.separate(gone)
    await agree(plant)


async def test_forgetting_one_of_two_merged_memories_forgets_both(plant: Plant) -> None:
    """What says the same under another id does not outlive it: body, keys and sources go with one tombstone."""
    scope = await plant.person()
    first = await plant.remember(scope, "我喜欢喝姜茶")
    second = await _unseen(plant, scope, "我真的喜欢喝姜茶")
    await done(plant, plant.composition.tidying(), days=SAID)
    keys = {part.key_id for each in await plant.stream(scope) for part in each.parts}
    receipt = await plant.forget(scope, first)
    await plant.follow()
    shown = await plant.until(scope, receipt)
    assert shown.decision == "deletion_propagated"
    assert not await plant.composition.vault("opener").present(keys)
    assert await _status(plant, scope, second) is MemoryStatus.FORGOTTEN
    assert await plant.recalled(scope, "姜茶") == {}
    await agree(plant)


async def _unseen(plant: Plant, scope: Scope, said: str) -> MemoryId:
    """Remember what the gate of what is written twice does not see, as it looks at the newest memories only."""
    open_ = [gate for gate in GATES if gate is not duplicate]
    seeing, plant.composition.gates = plant.composition.gates, open_
    plant.__dict__.pop("rememberer", None)
    try:
        return await plant.remember(scope, said)
    finally:
        plant.composition.gates = seeing
        plant.__dict__.pop("rememberer", None)


async def _status(plant: Plant, scope: Scope, memory: MemoryId) -> MemoryStatus:
    detail = await plant.composition.backend.memory(scope, memory)
    assert detail is not None
    return detail.status


async def test_a_profile_is_shown_kept_and_ended_as_its_fields_say(plant: Plant) -> None:
    """A value is shown with its rules; past its retention agents are blind to it and upkeep ends it."""
    scope = await plant.person()
    backend, long_ago = plant.composition.backend, NOW - timedelta(days=800)
    named = await plant.remember(scope, "我叫林小满。")
    (old,) = (await plant.say(scope, "我的鞋码是38码。", at=long_ago)).verdicts
    (asked,) = (await plant.say(scope, "Please remember that I wear size M.", at=long_ago)).verdicts
    assert (old.outcome, asked.outcome) == ("accepted", "accepted")

    shown = {field.key: field for field in (await backend.profile(scope, reader=TokenRole.PERSON)).fields}
    assert [value.memory_id for value in shown["identity.name"].values] == [named]
    assert shown["identity.name"].values[0].kept_until is None
    sizes = shown["profile.measure"]
    assert (sizes.purpose.zh, sizes.retention_days) == ("挑选合适的尺码", 730)
    assert {value.memory_id: value.withheld for value in sizes.values} == dict.fromkeys(
        (old.memory_id, asked.memory_id), "retention_over"
    )
    assert all(value.content and value.kept_until and value.kept_until < NOW for value in sizes.values)
    agent = {field.key: field for field in (await backend.profile(scope)).fields}
    assert [value.content for value in agent["profile.measure"].values] == [None, None]

    context = await backend.context(scope, ContextRequest(query="怎么称呼我，穿多大码？", role=RecallRole.CHAT))
    assert [section.name for section in context.sections if str(named) in "".join(section.lines)] == ["profile"]
    assert {each.memory_id for each in context.memories} == {named}
    assert {each.reason for each in context.left_out if each.memory_id == old.memory_id} == {"retention_over"}
    explained = await backend.explain(scope, named, reader=TokenRole.PERSON)
    assert explained is not None
    assert explained.field is not None
    assert (explained.field.key, explained.field.editable) == ("identity.name", "person")

    tidying = plant.composition.tidying()
    planned = [plan async for plan in tidying.plans(NOW)]
    assert of(planned, scope)["expire:retention_over"] == 1
    assert of(await done(plant, tidying), scope)["expire:retention_over"] == 1
    shown = {field.key: field for field in (await backend.profile(scope, reader=TokenRole.PERSON)).fields}
    assert [value.memory_id for value in shown["profile.measure"].values] == [asked.memory_id]
    tombstone = await plant.forget(scope, named)
    await plant.follow()
    assert (await plant.until(scope, tombstone)).propagated_at is not None
    assert (await backend.profile(scope, reader=TokenRole.PERSON)).fields[0].values == ()


async def test_a_lease_that_ran_out_is_noted_once_and_begins_anew_when_confirmed(plant: Plant) -> None:
    """What is old is noted as stale, what is risky asks the person; confirmed, it is fresh and nothing is due."""
    scope = await plant.person()
    parts = plant.composition
    backend, leases = parts.backend, Round(Leases(parts.log("eraser"), parts.vault("eraser")))
    lived = await plant.say(scope, "我住在苏州", at=NOW - timedelta(days=800))
    risky = await plant.say(scope, "Please remember that I am allergic to peanuts.", at=NOW - timedelta(days=2000))
    await plant.remember(scope, "I live with two cats.")
    (city,), (allergy,) = lived.verdicts, risky.verdicts
    planned = [plan async for plan in leases.plans(NOW) if plan.scope == scope]
    assert of(planned, scope) == {"note:lease_over:stale": 1, "note:lease_over:require_authoritative_recheck": 1}
    assert await done(plant, leases) == planned
    assert [plan async for plan in leases.plans(NOW) if plan.scope == scope] == []
    waits = (await backend.inbox(scope, reader=TokenRole.PERSON)).entries
    assert [(each.memory_id, each.why) for each in waits] == [(allergy.memory_id, "recheck")]

    settled = await backend.settle(scope, allergy.memory_id, confirmed=True)
    assert settled is not None
    assert (settled.memory_id, settled.version, settled.decision) == (allergy.memory_id, 1, "verified")
    assert await backend.settle(scope, allergy.memory_id, confirmed=True) == settled
    await plant.follow()
    shown = {each.memory_id: each.freshness for each in (await backend.memories(scope, None, 9, None)).memories}
    assert (shown[allergy.memory_id], shown[city.memory_id]) == ("fresh", "stale")
    assert (await backend.inbox(scope, reader=TokenRole.PERSON)).entries == ()
    assert [plan async for plan in leases.plans(NOW) if plan.scope == scope] == []
