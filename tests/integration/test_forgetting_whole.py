"""Forgetting a whole person and a whole tenant, on real stores (R40)."""

# ruff: noqa: S608 - every query is put together from the names of our own tables

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from events import failpoint
from events.errors import ErasedError, PreviewChangedError, UnavailableError
from events.model import EventId, Position, Scope, SubjectId, TenantId
from services.audit.evidence import Trust
from services.audit.faults import Kind
from services.audit.reading import Copies, snapshot, verify
from services.forgetting.question import Target
from services.forgetting.whole import KEPT, RECORDS, Whole, tables_of
from services.wire.recall import ContextRequest
from services.wire.receipts import ReceiptView
from tests.plant import ACTOR, Plant, planted

SAID = ("我住在苏州。", "请记住：我喜欢北京烤鸭。", "Remember that I love hiking.", "我对花生过敏。")
NOBODY = SubjectId(UUID(int=0))


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def lived(plant: Plant, scope: Scope) -> None:
    """Say some things, one of which is held, read a context, and leave a dead letter."""
    for words in SAID:
        await plant.say(scope, words, f"好的。{words}")
    await plant.composition.backend.context(
        scope, ContextRequest.model_validate({"query": "晚饭吃什么", "role": "chat", "session_id": "s1"})
    )
    await plant.composition.letters.park(
        scope, stream="turns", entry_id=f"{scope.subject_id}-0", reason="Any", deliveries=1, text=SAID[0]
    )


async def forget(plant: Plant, scope: Scope, what: str) -> EventId:
    """Forget all of somebody; the fence holds when this returns."""
    assert what in {"person", "tenant"}
    receipt = await plant.composition.backend.forgetter.forget_whole(scope, what, ACTOR)  # type: ignore[arg-type]
    await plant.sealed()
    return receipt


async def finished(plant: Plant, scope: Scope, receipt: EventId) -> ReceiptView:
    """Let the read models follow, and finish."""
    await plant.follow()
    shown = await plant.until(scope, receipt)
    assert shown.decision == "deletion_propagated", [each for each in shown.layers if each.state == "present"]
    return shown


async def test_nothing_of_a_forgotten_person_is_left_and_others_lose_nothing(plant: Plant) -> None:
    """All layers are empty of the person, others have what they had, the log verifies, a rebuild adds nothing."""
    scope, neighbour = await plant.person(), await plant.person()
    await lived(plant, neighbour)
    await lived(plant, scope)
    preview = await plant.composition.backend.preview_whole(scope, "person")
    assert (preview.people, preview.turns, preview.messages) == (1, len(SAID), 2 * len(SAID))
    assert preview.memories == len(SAID)
    with pytest.raises(PreviewChangedError):
        await plant.composition.backend.forget_whole(scope, "person", "0" * 64)
    before = await plant.counts(scope)
    receipt = await forget(plant, scope, "person")
    assert await plant.recalled(scope, "晚饭吃什么") == {}
    assert await forget(plant, scope, "person") == receipt
    turn = plant.turn("我住在杭州。")
    assert (await plant.store(scope, turn)).state == "forgotten"
    shown = await finished(plant, scope, receipt)
    assert (shown.scope, shown.memories, shown.messages) == ("person", preview.memories, preview.messages)
    assert json.loads(shown.statement or "")["memories"] == preview.memories
    assert set(shown.negative_queries.values()) == {0}
    assert await plant.counts(scope) == before
    with pytest.raises(ErasedError):
        await plant.recalled(scope, "晚饭吃什么")
    for name in ("facts", "keywords", "sessions", "vectors"):
        await plant.rebuild(name)
    assert await plant.counts(scope) == before
    assert [report.model async for report in plant.composition.differ().run() if report.missing + report.extra] == []
    async with snapshot(plant.composition.log("prober")) as connection:
        report = await verify(connection, Copies(), Trust())
    assert [fault for fault in report.faults if fault.kind in {Kind.BODY_MISSING, Kind.FENCE}] == []
    assert report.shredded > len(SAID)


async def test_who_comes_back_is_somebody_new_and_what_was_said_before_stays_forgotten(plant: Plant) -> None:
    """Under the same outside id a new life begins: turns from before are answered `forgotten`, later ones stored."""
    vault = plant.composition.vault("keeper")
    scope = Scope(tenant_id=plant.tenant, subject_id=await vault.subject(plant.tenant, "回来的人"))
    told = plant.turn(SAID[0], "好的。")
    await plant.store(scope, told)
    await finished(plant, scope, await forget(plant, scope, "person"))
    again = Scope(tenant_id=plant.tenant, subject_id=await vault.subject(plant.tenant, "回来的人"))
    assert again.subject_id != scope.subject_id
    assert (await plant.store(again, told)).state == "forgotten"
    assert (
        await plant.store(again, plant.turn("我住在杭州。", at=datetime.now(UTC) + timedelta(seconds=1)))
    ).state == "stored"
    await plant.composition.roller.roll()
    assert (await plant.store(again, told)).state == "forgotten"


async def test_whatever_is_being_said_meanwhile_is_in_or_out(plant: Plant) -> None:
    """Turns that race with the forget are stored before it and erased with it, or answered `forgotten`."""
    scope = await plant.person()
    await plant.say(scope, SAID[0], "好的。")
    turns = [plant.turn(f"I live in house {number}.", "OK.") for number in range(12)]
    answers, receipt = await asyncio.gather(
        asyncio.gather(*(plant.store(scope, turn) for turn in turns)), forget(plant, scope, "person")
    )
    assert {answer.state for answer in answers} <= {"stored", "forgotten"}
    for answer in answers:
        if answer.position is not None:
            assert await plant.rememberer.consider(Position(answer.position)) is None
    await finished(plant, scope, receipt)
    async with plant.owner() as connection:
        assert await connection.fetchval("select count(*) from log.body where subject_id = $1", scope.subject_id) == 0
    async with plant.vault() as connection:
        assert (
            await connection.fetchval("select count(*) from vault.person where subject_id = $1", scope.subject_id) == 0
        )


async def test_a_tenant_goes_with_everybody_in_it_and_no_other(plant: Plant) -> None:
    """After kills at every step nothing of three people is left, nor the tenant's key; another tenant loses nothing."""
    tenant, key = await plant.composition.create_tenant()
    people = [
        Scope(tenant_id=tenant, subject_id=await plant.composition.vault("keeper").subject(tenant, name))
        for name in "甲乙丙"
    ]
    for scope in people:
        await lived(plant, scope)
    everybody = Scope(tenant_id=tenant, subject_id=NOBODY)
    before = await _elsewhere(plant, tenant)
    preview = await plant.composition.backend.preview_whole(everybody, "tenant")
    assert (preview.people, preview.memories) == (3, 3 * len(SAID))
    receipt = await forget(plant, everybody, "tenant")
    for scope in people:
        assert await plant.recalled(scope, "晚饭吃什么") == {}
    await plant.follow()
    for name, count in (
        ("erase.prepared", 1),
        ("erase.destroyed", 2),
        ("erase.removed", 3),
        ("erase.recorded", 1),
        ("erase.proven", 1),
        ("erase.signed", 1),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(failpoint, "hit", Dying(name, count).hit)
            with pytest.raises(Killed):
                await plant.finish(everybody, receipt)
    shown = await finished(plant, everybody, receipt)
    assert (shown.scope, shown.memory_id) == ("tenant", None)
    assert await _elsewhere(plant, tenant) == before
    for query in (
        "log.body",
        "facts.memory",
        "sessions.message",
        "keywords.entry",
        "ops.read",
        "ops.dead_letter",
        "ops.api_key",
    ):
        async with plant.owner() as connection:
            assert await connection.fetchval(f"select count(*) from {query} where tenant_id = $1", tenant) == 0, query
    async with plant.vault() as connection:
        for query in ("tenant", "person", "data_key", "alias"):
            assert await connection.fetchval(f"select count(*) from vault.{query} where tenant_id = $1", tenant) == 0, (
                query
            )
    assert await plant.composition.backend.holder_of_key(key) is None
    for scope in people:
        assert (await plant.store(scope, plant.turn(SAID[0]))).state == "forgotten"


async def test_a_layer_that_keeps_one_row_keeps_the_receipt_pending(plant: Plant) -> None:
    """One row left in any table of a read model, or in `ops`, is found, and named."""
    scope = await plant.person()
    await lived(plant, scope)
    receipt = await forget(plant, scope, "person")
    await plant.follow()
    row = (scope.tenant_id, scope.subject_id, scope.tenant_id)
    async with plant.owner() as connection:
        await connection.execute("insert into facts.subject values ($1, $2, 1)", *row[:2])
        await connection.execute("insert into keywords.entry values ($1, $2, $3, 1, '{1}', 1)", *row)
    shown = await plant.finish(scope, receipt)
    assert shown.decision == "DELETION_PENDING"
    found = {each.layer: each.checks for each in shown.layers if each.state == "present"}
    assert (found["facts"]["subject"], found["keyword_index"]["entry"]) == (1, 1)
    async with plant.owner() as connection:
        await connection.execute("delete from facts.subject where subject_id = $1", scope.subject_id)
        await connection.execute("delete from keywords.entry where subject_id = $1", scope.subject_id)
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


async def test_every_table_beside_the_log_goes_or_is_kept_for_a_reason(plant: Plant) -> None:
    """A new table in `ops` that belongs to a tenant and is in neither list makes this fail."""
    async with plant.owner() as connection:
        assert set(await tables_of(connection, "ops")) == {*RECORDS, *KEPT}


class Killed(BaseException):
    """As if the process had been killed."""


class Dying:
    """Raises at the n-th hit of a failpoint."""

    def __init__(self, name: str, number: int) -> None:
        self._name, self._left = name, number

    def hit(self, name: str) -> None:
        """Pass, or not."""
        self._left -= name == self._name
        if name == self._name and self._left == 0:
            raise Killed(name)


async def _elsewhere(plant: Plant, tenant: TenantId) -> dict[str, int]:
    """Count what other tenants have."""
    found = {}
    async with plant.owner() as connection:
        for table in ("log.body", "facts.memory", "sessions.message", "keywords.entry", "ops.read"):
            found[table] = await connection.fetchval(f"select count(*) from {table} where tenant_id <> $1", tenant)
    async with plant.vault() as connection:
        found["data_key"] = await connection.fetchval(
            "select count(*) from vault.data_key where tenant_id <> $1", tenant
        )
    return found


async def test_a_sample_is_what_could_be_read_of_it(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one of three people cannot be read the others are asked for; where none can, nothing is prepared."""
    keeper, composition = plant.composition.vault("keeper"), plant.composition
    tenant = await keeper.create_tenant()
    people = [Scope(tenant_id=tenant, subject_id=await keeper.subject(tenant, f"{number}")) for number in range(3)]
    for each in people:
        await plant.remember(each, SAID[1], "好的。")
    tombstone = await plant.tombstone(
        Scope(tenant_id=tenant, subject_id=NOBODY),
        await forget(plant, Scope(tenant_id=tenant, subject_id=NOBODY), "tenant"),
    )
    whole = Whole(composition.log("eraser"), composition.vault("eraser"))
    read, broken = whole._sample_of, {people[0].subject_id}

    async def sample_of(scope: Scope, seed: str) -> list[Target]:
        if scope.subject_id in broken:
            raise UnavailableError("a store is away")
        return await read(scope, seed)

    monkeypatch.setattr(whole, "_sample_of", sample_of)
    question = await whole.sample(tombstone, 60)
    assert {each.subject_id for each in question.targets} == {each.subject_id for each in people[1:]}
    assert question.prepared
    broken |= {each.subject_id for each in people}
    with pytest.raises(UnavailableError):
        await whole.sample(tombstone, 60)
