"""How an answer came about is on record, without a word of it, for as long as it may be (R36)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from events.model import MemoryId, Scope
from projections.moment import present_of
from services.access.rights import TokenRole
from services.forgetting.retention import Retention
from services.recall.reads import Given, record
from services.wire.recall import ContextAnswer, ContextRequest, RecallRole, SearchRequest
from services.wire.traces import TraceView
from tests.plant import Plant, planted

MONTH = timedelta(days=31)


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def context(plant: Plant, scope: Scope, query: str, **given: object) -> ContextAnswer:
    """Compile a context."""
    request = ContextRequest.model_validate({"query": query, "role": "chat", **given})
    return await plant.composition.backend.context(scope, request)


async def shown(plant: Plant, scope: Scope, trace: UUID) -> TraceView:
    """Read a trace that is there."""
    view = await plant.composition.backend.trace(scope, trace)
    assert view is not None
    return view


async def test_a_trace_says_of_each_memory_why_it_came_or_did_not(plant: Plant) -> None:
    """Paths, ranks, features, section, budget, unlike the query, another role's: each told, and never in words."""
    scope = await plant.person()
    city = await plant.remember(scope, "请记住：我住在苏州。")
    cat = await plant.remember(scope, "Please remember that my cat is called Momo.")
    style = await plant.remember(scope, "以后回答请用中文。")
    answer = await context(plant, scope, "我住在哪个城市？", token_budget=800)
    view = await shown(plant, scope, answer.context_id)
    fates = {each.memory_id: each for each in view.candidates}
    assert view.memories == tuple(each.memory_id for each in answer.memories)
    assert (fates[city].fate, fates[city].section, fates[city].rank) == ("injected", "current", 1)
    assert {"vectors", "keywords"} <= set(fates[city].paths)
    assert fates[style].fate == "injected"
    assert fates[cat].fate in {"injected", "unrelated"}
    assert view.trace is not None
    assert (view.trace.preset, view.trace.token_budget, view.trace.used_tokens) == ("default", 800, answer.used_tokens)
    small = await shown(plant, scope, (await context(plant, scope, "我住在哪个城市？", token_budget=60)).context_id)
    assert {each.fate for each in small.candidates if each.rank} == {"budget"}
    assert small.trace is not None
    assert small.trace.cached
    other = await shown(plant, scope, (await context(plant, scope, "我住在哪里？", role="generator")).context_id)
    assert {each.memory_id: each.fate for each in other.candidates}[city] == "role"
    async with plant.owner() as connection:
        rows = [str(dict(row)) for row in await connection.fetch("select * from ops.read")]
    assert not any(word in row for row in rows for word in ("苏州", "Momo", "城市", "中文"))


async def test_every_read_of_memories_is_on_record(plant: Plant) -> None:
    """Lists, single memories, explanations, the inbox and previews too, by whom; nobody else finds the record."""
    scope, stranger = await plant.person(), await plant.person()
    memory = await plant.remember(scope, "请记住：我住在苏州。")
    backend = plant.composition.backend
    await backend.memories(scope, None, 50, None, reader=TokenRole.PERSON)
    await backend.memory(scope, memory)
    await backend.explain(scope, memory)
    await backend.inbox(scope)
    await backend.preview(scope, "我住在哪里")
    search = await backend.search(scope, SearchRequest(query="我住在哪里", role=RecallRole.PLANNER))
    async with plant.composition.log("reader").transaction(scope) as connection:
        rows = await connection.fetch("select path, role, memories from ops.read order by at")
    assert [(row["path"], row["role"], row["memories"]) for row in rows] == [
        ("list", "person", [memory]),
        ("memory", "agent", [memory]),
        ("explain", "agent", [memory]),
        ("inbox", "agent", []),
        ("preview", "agent", [memory]),
        ("search", "planner", [memory]),
    ]
    assert await backend.trace(stranger, search.context_id) is None
    assert (await shown(plant, scope, search.context_id)).candidates[0].fate == "injected"


async def test_a_forgotten_memory_leaves_no_id_in_any_trace(plant: Plant) -> None:
    """Neither as given away nor as considered; what was left out stays a nameless line, the receipt names the turn."""
    scope = await plant.person()
    memory = await plant.remember(scope, "请记住：我住在苏州。")
    await plant.remember(scope, "请记住：我养了一只猫。")
    given = await context(plant, scope, "我住在哪里？")
    considered = await context(plant, scope, "我住在哪里？", token_budget=60)
    await plant.say(scope, "谢谢", contexts=[given.context_id])
    tombstone = await plant.forget(scope, memory)
    await plant.follow()
    receipt = await plant.until(scope, tombstone)
    assert receipt.decision == "deletion_propagated"
    assert len(receipt.injected_turns) == 1
    checks = {layer.layer: (layer.state, layer.checks) for layer in receipt.layers}
    assert checks["reads"] == ("absent", {"by_id": 0, "considered": 0})
    assert checks["semantic_cache"][0] == "masked"
    for trace in (given.context_id, considered.context_id):
        view = await shown(plant, scope, trace)
        assert memory not in view.memories
        assert None in {each.memory_id for each in view.candidates}
        assert memory not in {each.memory_id for each in view.candidates}
    assert (await shown(plant, scope, given.context_id)).forgotten
    assert (await shown(plant, scope, given.context_id)).turns


async def test_what_is_fenced_while_it_is_read_is_not_given_away(plant: Plant) -> None:
    """The record is the last look at the fence: it names what went, and keeps no id of it."""
    scope = await plant.person()
    kept = await plant.remember(scope, "请记住：我住在苏州。")
    gone = await plant.remember(scope, "请记住：我养了一只猫。")
    await plant.forget(scope, gone)
    async with plant.composition.log("reader").transaction(scope) as connection:
        read, stones = await record(connection, scope, Given("search", "chat", [(gone, 1), (kept, 1)]))
    assert stones == {gone}
    async with plant.owner() as connection:
        row = await connection.fetchrow("select memories, versions, forgotten from ops.read where read_id = $1", read)
    assert row is not None
    assert (row["memories"], row["versions"], row["forgotten"]) == ([kept], [1], True)


async def test_a_read_is_recorded_for_whom_its_transaction_is_bound_to(plant: Plant) -> None:
    """A transaction that is bound to one person records nothing for another, nor reads another's present."""
    scope, stranger = await plant.person(), await plant.person()
    reader = plant.composition.log("reader")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with reader.transaction(scope) as connection:
            await record(connection, stranger, Given("search", "chat", []))
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with reader.transaction(scope) as connection:
            await present_of(connection, stranger)
    async with reader.connection() as connection:  # it binds its own transaction, and nothing after it
        read, _ = await record(connection, stranger, Given("search", "chat", []))
        with pytest.raises(asyncpg.PostgresError):
            await connection.fetch("select * from ops.read")
    async with plant.owner() as owner:
        rows = await owner.fetch(
            "select read_id, subject_id from ops.read where subject_id = any($1::uuid[])",
            [scope.subject_id, stranger.subject_id],
        )
    assert [(row["read_id"], row["subject_id"]) for row in rows] == [(read, stranger.subject_id)]


async def test_reads_end_after_their_time(plant: Plant) -> None:
    """The trace goes and the row with it, but the ids stay while a turn they went into still has words."""
    scope = await plant.person()
    memory = await plant.remember(scope, "请记住：我住在苏州。")
    loose, bound = await context(plant, scope, "我住在哪里？"), await context(plant, scope, "我住在哪里？")
    await plant.say(scope, "请记住：我对花生过敏。", "好的，您住在苏州。", contexts=[bound.context_id])
    retention = Retention(plant.composition.log("eraser"), 30)
    while await retention.step():
        pass
    assert (await shown(plant, scope, loose.context_id)).candidates
    while await retention.step(datetime.now(UTC) + MONTH):
        pass
    assert await plant.composition.backend.trace(scope, loose.context_id) is None
    view = await shown(plant, scope, bound.context_id)
    assert (view.memories, view.trace, view.candidates) == ((MemoryId(memory),), None, ())
    tombstone = await plant.forget(scope, memory)
    receipt = await plant.composition.backend.receipt(scope, tombstone)
    assert receipt is not None
    assert receipt.injected_turns
