"""From a finished turn to memories, on real stores: each turn considered once, every verdict in one append."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import cast
from uuid import UUID, uuid5

import pytest
import redis.asyncio as redis

from events.errors import ConcurrencyError, TurnConflictError
from events.log import read_command
from events.model import (
    Accepted,
    CandidateProposed,
    CommandId,
    NotWritten,
    Outcome,
    Position,
    Scope,
    Superseded,
    TurnConsidered,
    TurnStatus,
)
from services.governance.policy import shipped_policy
from services.wire.memories import MemoryStatus
from services.wire.recall import ContextRequest, RecallRole, SearchRequest
from tests.plant import Plant, planted
from workers.jobs import REMEMBER, Jobs
from workers.remember import sweep


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def considered(plant: Plant, scope: Scope) -> list[TurnConsidered]:
    return [each.event for each in await plant.stream(scope) if isinstance(each.event, TurnConsidered)]


@pytest.mark.parametrize(
    "said", ["我叫沈亦然，住在苏州，做后端开发。", "My name is Lee. I live in Suzhou.", "早上好！", "Thanks!"]
)
async def test_a_turn_is_considered_once(plant: Plant, said: str) -> None:
    """Every turn ends in exactly one `turn_considered` and one command; a second job adds nothing."""
    scope = await plant.person()
    position = await plant.placed(scope, plant.turn(said, "好的。"))
    first = await plant.rememberer.consider(position)
    assert first is not None
    await plant.sealed()
    before = await plant.stream(scope)
    assert await plant.rememberer.consider(position) is None
    assert await plant.stream(scope) == before
    (end,) = await considered(plant, scope)
    assert end.counts == first.counts
    assert (end.policy_digest, bool(end.extractor)) == (shipped_policy().digest, True)
    assert len({each.command_id for each in before}) == 1
    assert sum(end.counts.values()) == sum(isinstance(each.event, CandidateProposed) for each in before)


async def test_a_turn_considered_by_many_at_once_is_considered_once(plant: Plant) -> None:
    """20 workers with the same job write one outcome."""
    scope = await plant.person()
    position = await plant.placed(scope, plant.turn("我叫沈亦然，住在苏州。", "好的。"))
    answers = await asyncio.gather(*(plant.rememberer.consider(position) for _ in range(20)), return_exceptions=True)
    assert sum(answer is not None and not isinstance(answer, ConcurrencyError) for answer in answers) == 1
    assert len(await considered(plant, scope)) == 1


async def test_what_is_no_turn_is_not_considered(plant: Plant) -> None:
    """A job that names another event, or a position that is not there, is done without a trace."""
    scope = await plant.person()
    position = await plant.placed(scope, plant.turn("我住在苏州", "好的。"))
    await plant.rememberer.consider(position)
    await plant.sealed()
    assert await plant.rememberer.consider(Position(position + 1)) is None
    assert await plant.rememberer.consider(Position(10**9)) is None
    assert len(await considered(plant, scope)) == 1


@pytest.mark.parametrize("status", [TurnStatus.CANCELLED, TurnStatus.FAILED])
async def test_a_turn_that_did_not_complete_yields_nothing(plant: Plant, status: TurnStatus) -> None:
    """A cancelled or failed turn is stored and considered, and no candidate comes of it."""
    scope = await plant.person()
    turn = plant.turn("请记住：我喜欢北京烤鸭。", "好的。").model_copy(update={"status": status})
    await plant.rememberer.consider(await plant.placed(scope, turn))
    assert [each.counts for each in await considered(plant, scope)] == [{}]
    assert len(await plant.turns(scope)) == 1


async def test_a_later_statement_supersedes_an_earlier_one(plant: Plant) -> None:
    """Version 2 follows version 1 of the same memory, in one append; only the newer one is recalled."""
    scope = await plant.person()
    memory = await plant.remember(scope, "我住在苏州", "好的。")
    assert await plant.remember(scope, "I moved, I now live in Utrecht.", "OK.") == memory
    stream = await plant.stream(scope)
    (old,) = [each for each in stream if isinstance(each.event, Superseded)]
    newer = [each for each in stream if isinstance(each.event, Accepted)][-1]
    assert old.command_id == newer.command_id
    detail = await plant.composition.backend.memory(scope, memory)
    assert detail is not None
    assert [each.status for each in detail.versions] == [MemoryStatus.SUPERSEDED, MemoryStatus.ACTIVE]
    (content,) = (await plant.recalled(scope, "我住在哪里")).values()
    assert "Utrecht" in content


async def test_a_correction_is_visible_before_any_read_model_follows(plant: Plant) -> None:
    """Decisions and recall look at facts ⊕ newer events: no read model needs to have seen the first statement."""
    scope = await plant.person()
    for said in ("我住在苏州", "我搬家了，现在住在杭州"):
        await plant.rememberer.consider(await plant.placed(scope, plant.turn(said, "好的。")))
    accepted = [each.event for each in await plant.stream(scope) if isinstance(each.event, Accepted)]
    assert [each.version for each in accepted] == [1, 2]
    assert len({each.memory_id for each in accepted}) == 1
    (content,) = (await plant.recalled(scope, "我住在哪里")).values()
    assert "杭州" in content


@pytest.mark.parametrize(
    ("first", "second"), [("I love Chinese food", "I hate it now"), ("我喜欢吃川菜", "我现在讨厌它了")]
)
async def test_it_means_what_the_turn_before_named(plant: Plant, first: str, second: str) -> None:
    """Exactly one is current, the new one; the old one is history, and version 2 follows version 1."""
    scope = await plant.person()
    memory = await plant.remember(scope, first, "OK.")
    assert await plant.remember(scope, second, "OK.") == memory
    detail = await plant.composition.backend.memory(scope, memory)
    assert detail is not None
    assert [(each.version, each.status) for each in detail.versions] == [
        (1, MemoryStatus.SUPERSEDED),
        (2, MemoryStatus.ACTIVE),
    ]


@pytest.mark.parametrize(
    ("first", "elsewhere", "second"),
    [
        ("记住备用钥匙在蓝色花盆下面。", "记住备用钥匙是铜的。", "记住，备用钥匙其实改放蓝色水桶下面了。"),
        (
            "Please remember: the fish tank water is changed weekly.",
            "Please remember: the fish tank water stays at 26 degrees.",
            "Please remember: the fish tank water is now changed every ten days.",
        ),
    ],
)
async def test_a_change_of_what_has_no_key_supersedes(plant: Plant, first: str, elsewhere: str, second: str) -> None:
    """Words and the stored vectors find the memory that a newer statement corrects; the other one stays."""
    scope = await plant.person()
    memory, other = await plant.remember(scope, first, "OK."), await plant.remember(scope, elsewhere, "OK.")
    assert other != memory
    assert await plant.remember(scope, second, "OK.") == memory
    detail = await plant.composition.backend.memory(scope, memory)
    assert detail is not None
    assert [each.status for each in detail.versions] == [MemoryStatus.SUPERSEDED, MemoryStatus.ACTIVE]


@pytest.mark.parametrize("said", ["我对青霉素过敏。", "I am allergic to penicillin."])
async def test_something_sensitive_is_held_once(plant: Plant, said: str) -> None:
    """It waits sealed for the person, seven days, is not recalled, and is not held a second time."""
    scope = await plant.person()
    for _ in range(2):
        await plant.say(scope, said, "好的。")
    held, again = [each for each in await plant.stream(scope) if isinstance(each.event, NotWritten)]
    assert isinstance(held.event, NotWritten)
    assert isinstance(again.event, NotWritten)
    assert (held.event.outcome, held.event.gate) == (Outcome.HELD, "sensitivity")
    assert [part.name for part in held.parts] == ["memory"]
    assert held.event.held_until is not None
    first = (await plant.turns(scope))[0]
    assert held.event.held_until - first.recorded_at == timedelta(days=7)
    assert (again.event.outcome, again.parts) == (Outcome.REJECTED, ())
    assert await plant.recalled(scope, said) == {}
    page = await plant.composition.backend.memories(scope, None, 10, None)
    assert [(each.memory_id, each.status) for each in page.memories] == [(held.event.candidate_id, MemoryStatus.HELD)]


async def test_something_held_can_be_forgotten(plant: Plant) -> None:
    """A held candidate goes like a memory does, with its message and its key."""
    scope = await plant.person()
    await plant.say(scope, "我对青霉素过敏。", "好的。")
    (held,) = [each for each in await plant.stream(scope) if isinstance(each.event, NotWritten)]
    assert isinstance(held.event, NotWritten)
    receipt = await plant.forget(scope, held.event.candidate_id)
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    assert (await plant.composition.backend.memories(scope, None, 10, None)).memories == ()


async def test_a_refused_candidate_leaves_no_content(plant: Plant) -> None:
    """What a gate refuses leaves a pointer and a reason, and no body."""
    scope = await plant.person()
    await plant.say(scope, "这次回答请用英文。", "OK.")
    refused = [each for each in await plant.stream(scope) if isinstance(each.event, NotWritten)]
    assert [each.parts for each in refused] == [()] * len(refused)
    assert await plant.recalled(scope, "用什么语言回答") == {}


async def test_the_same_turn_again_is_known_and_another_body_is_refused(plant: Plant) -> None:
    """A turn id is idempotent, side by side too, and never stands for two bodies."""
    scope = await plant.person()
    turn = plant.turn("我住在苏州", "好的。")
    states = [each.state for each in await asyncio.gather(*(plant.store(scope, turn) for _ in range(10)))]
    assert sorted(states) == ["known"] * 9 + ["stored"]
    other = plant.turn("我住在杭州", "好的。", turn_id=turn.turn_id).model_copy(
        update={"occurred_at": turn.occurred_at}
    )
    with pytest.raises(TurnConflictError):
        await plant.store(scope, other)
    assert len(await plant.turns(scope)) == 1


async def test_the_sweeper_queues_what_no_job_came_for(plant: Plant) -> None:
    """A turn whose job was lost is queued again until it is considered, and not after that."""
    scope = await plant.person()
    client = redis.from_url(plant.composition.endpoints.redis_url)
    await client.delete(REMEMBER)
    position = await plant.placed(scope, plant.turn("我住在苏州", "好的。"))
    await plant.follow()
    jobs = Jobs(plant.composition.endpoints.redis_url)
    sweeping = asyncio.create_task(sweep(plant.composition.log("projector"), jobs, 0.1))
    try:
        async with asyncio.timeout(90):
            # other tests leave turns behind too, and theirs may be old enough first
            while str(position) not in await queued(client):  # noqa: ASYNC110 - the server rings no bell
                await asyncio.sleep(0.02)
        await plant.rememberer.consider(position)
        await plant.follow()
        await asyncio.sleep(0.3)
        await client.delete(REMEMBER)
        await asyncio.sleep(0.5)
        assert str(position) not in await queued(client)
    finally:
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)
        await jobs.close()
        await client.delete(REMEMBER)
        await client.aclose()


async def queued(client: "redis.Redis") -> set[str]:
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await client.xrange(REMEMBER))
    return {fields[b"position"].decode() for _, fields in entries}


async def test_a_turn_nobody_could_consider_ends_all_the_same(plant: Plant) -> None:
    """Giving up writes the one `turn_considered` and nothing else; a late success cannot write a second."""
    scope = await plant.person()
    position = await plant.placed(scope, plant.turn("我住在苏州", "好的。"))
    for _ in range(2):
        await plant.rememberer.give_up(position)
    assert await plant.rememberer.consider(position) is None
    assert [each.counts for each in await considered(plant, scope)] == [{"failed": 1}]
    assert len(await plant.stream(scope)) == 1


async def test_a_turn_forgotten_before_it_was_considered_yields_nothing(plant: Plant) -> None:
    """Words that were fenced meanwhile are not there for the extractor, however late its job comes."""
    scope = await plant.person()
    memory = await plant.remember(scope, "我住在苏州", "好的。")
    request = {"query": "我住在哪里", "role": "chat"}
    context = await plant.composition.backend.context(scope, ContextRequest.model_validate(request))
    late = plant.turn("好的。", "记住：你住在苏州。", contexts=[context.context_id])
    position = await plant.placed(scope, late)
    await plant.forget(scope, memory)
    assert await plant.rememberer.consider(position) is not None
    await plant.follow()
    assert await plant.recalled(scope, "我住在哪里") == {}
    command = CommandId(uuid5(UUID(str((await plant.turns(scope))[-1].event.turn_id)), "considered"))  # type: ignore[attr-defined]
    async with plant.owner() as connection:
        assert len(await read_command(connection, command)) == 1


async def test_a_search_is_recorded_like_a_context(plant: Plant) -> None:
    """Who searched which versions is on record, without a word; the id of the record is handed out."""
    scope = await plant.person()
    memory = await plant.remember(scope, "我住在苏州", "好的。")
    search = await plant.composition.backend.search(scope, SearchRequest(query="我住在哪里", role=RecallRole.PLANNER))
    assert [each.memory_id for each in search.memories] == [memory]
    nothing = await plant.composition.backend.search(scope, SearchRequest(query="我住在哪里", role=RecallRole.SEARCH))
    async with plant.composition.log("reader").transaction(scope) as connection:
        rows = await connection.fetch("select read_id, path, role, memories, versions from ops.read order by at")
    assert [tuple(row.values()) for row in rows] == [
        (search.context_id, "search", "planner", [memory], [1]),
        (nothing.context_id, "search", "search", [], []),
    ]
