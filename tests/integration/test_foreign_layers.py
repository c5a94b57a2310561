"""Layers of other applications: covered by receipts, caught where they lie, not believed where they are not seen."""

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args
from uuid import uuid4

import asyncpg
import pytest
import redis.asyncio as redis

from events.errors import BadInputError
from events.model import MemoryId, Scope, SubjectId, TenantId
from services.forgetting.foreign.asked import Asked
from services.forgetting.foreign.conformance import conformance
from services.forgetting.foreign.directory import Directory, Registration, Secrets
from services.forgetting.foreign.endpoint import TRIES, Endpoint, ForeignError
from services.forgetting.foreign.signing import RequestSigner
from services.forgetting.foreign.stores import PostgresTable, RedisKeys
from services.wire.receipts import LayerView, ReceiptView
from tests.application import BEARER, Application, Mood, application
from tests.plant import Plant, planted

SAID = "请记住：我喜欢北京烤鸭。"
UNANSWERED = sorted(set(get_args(Mood)) - {"honest", "lying", "credulous"})
KEYS = RedisKeys(pattern="app:{tenant}:{subject}:{memory}*")
TABLE = PostgresTable(table="app.documents", subject_column="person", text_column="content")


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own, and a table of an application beside it."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        async with plant.owner() as connection:
            await connection.execute("create schema app")
            await connection.execute(
                "create table app.documents (memory_id text, person text, content text, embedding real[])"
            )
        yield plant


@pytest.fixture
async def owned(plant: Plant) -> AsyncIterator[tuple[Scope, MemoryId]]:
    """Give a person with one memory, of a tenant whose layers are gone afterwards."""
    scope = await plant.person()
    yield scope, await plant.remember(scope, SAID, "好，记住了。")
    for each in await plant.composition.owners_directory.list(scope.tenant_id):
        await plant.composition.owners_directory.remove(scope.tenant_id, each.name)


async def register(
    plant: Plant,
    url: str | None = None,
    store: RedisKeys | PostgresTable | None = None,
    *,
    attested: bool = False,
    name: str = "app",
) -> None:
    endpoints = plant.composition.endpoints
    address = endpoints.redis_url if isinstance(store, RedisKeys) else endpoints.database_url
    await plant.composition.owners_directory.add(
        plant.tenant,
        Registration(name=name, url=url, store=store, attested=attested, added_at=datetime.now(UTC)),
        Secrets(bearer=BEARER, store_url=address),
    )


def app(receipt: ReceiptView) -> LayerView:
    (found,) = (each for each in receipt.layers if each.layer == "foreign:app")
    return found


def unproven(receipt: ReceiptView) -> set[str]:
    return {each.layer for each in receipt.layers if each.state in {"present", "cannot_prove"}}


def public(plant: Plant) -> str:
    return RequestSigner(plant.composition.settings.keys).public


class Copies:
    """An application's copies in Redis or Postgres."""

    def __init__(self, plant: Plant, store: RedisKeys | PostgresTable) -> None:
        self._redis = plant.composition.endpoints.redis_url if isinstance(store, RedisKeys) else None
        self._postgres = plant.composition.endpoints.database_url

    async def put(self, scope: Scope, memory: object, text: str) -> None:
        """Keep a copy."""
        if self._redis is not None:
            async with redis.from_url(self._redis) as client:
                key = f"app:{scope.tenant_id}:{scope.subject_id}:{memory}:v1"
                await client.hset(key, mapping={"content": text})
            return
        connection = await asyncpg.connect(self._postgres)
        await connection.execute(
            "insert into app.documents values ($1, $2, $3, '{0.1, 0.2}')", str(memory), str(scope.subject_id), text
        )
        await connection.close()

    async def drop(self, memories: list[str]) -> None:
        """Delete copies."""
        if self._redis is not None:
            async with redis.from_url(self._redis) as client:
                for memory in memories:
                    async for key in client.scan_iter(match=f"app:*:{memory}*"):
                        await client.delete(key)
            return
        connection = await asyncpg.connect(self._postgres)
        await connection.execute("delete from app.documents where memory_id = any($1::text[])", memories)
        await connection.close()


async def test_a_vouched_for_layer_is_asked_by_signed_ids_and_covered_by_receipts(
    plant: Plant, owned: tuple[Scope, MemoryId]
) -> None:
    """Only ids leave, signed and with the token; what it holds again is found later; other tenants ask it nothing."""
    scope, memory = owned
    other = await plant.composition.vault("keeper").create_tenant()
    async with application(public(plant)) as there:
        await register(plant, there.url, attested=True)
        assert await plant.composition.registry.foreign.of(other) == []  # type: ignore[union-attr]
        there.held = {str(memory)}
        receipt = await plant.forget(scope, memory)
        await plant.follow()
        shown = await plant.until(scope, receipt)
        assert (app(shown).state, app(shown).checks) == ("absent", {"by_id": 0})
        assert there.held == set()
        assert {path for path, _ in there.sent} == {"/memory/erase", "/memory/probe"}
        assert not any("烤鸭" in body.decode() for _, body in there.sent)
        there.held = {str(memory)}
        found = await plant.composition.locator.locate(scope, memory)
        assert [each.holds for each in found or () if each.finding.layer == "foreign:app"] == [True]


@pytest.mark.parametrize("mood", [*UNANSWERED, "lying"])
async def test_a_layer_that_does_not_answer_rightly_or_only_by_its_word_proves_nothing(
    plant: Plant, owned: tuple[Scope, MemoryId], mood: Mood
) -> None:
    """It hangs, dies, answers rubbish, or says what nobody can check: cannot_prove, and no other layer suffers."""
    scope, memory = owned
    async with application(public(plant), mood) as there:
        await register(plant, there.url, attested=mood != "lying")
        receipt = await plant.forget(scope, memory)
        await plant.follow()
        shown = await plant.until(scope, receipt, lambda each: unproven(each) == {"foreign:app"})
    assert (shown.decision, app(shown).state) == ("DELETION_PENDING", "cannot_prove")
    await plant.composition.owners_directory.remove(plant.tenant, "app")
    await plant.until(scope, receipt)


@pytest.mark.parametrize("store", [KEYS, TABLE], ids=["redis", "postgres"])
async def test_a_layer_that_lies_is_caught_in_its_store(
    plant: Plant, owned: tuple[Scope, MemoryId], store: RedisKeys | PostgresTable
) -> None:
    """It says that all is erased and nothing held, and the copy is seen; once it is really gone the receipt ends."""
    scope, memory = owned
    copies = Copies(plant, store)
    await copies.put(scope, memory, "不许看")
    async with application(public(plant), "lying") as there:
        there.erase = copies.drop
        await register(plant, there.url, store)
        receipt = await plant.forget(scope, memory)
        await plant.follow()
        shown = await plant.finish(scope, receipt)
        assert (shown.decision, app(shown).state, app(shown).checks["by_id"]) == ("DELETION_PENDING", "present", 1)
        there.mood = "honest"
        assert app(await plant.until(scope, receipt)).state == "unreclaimed"


@pytest.mark.parametrize("store", [KEYS, TABLE], ids=["redis", "postgres"])
async def test_the_text_under_another_id_in_a_store_keeps_the_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId], store: RedisKeys | PostgresTable
) -> None:
    """The words under an id that is no memory are found; a copy of what lives, or of somebody else, is none."""
    scope, memory = owned
    stranger, stray, copies = await plant.person(), uuid4(), Copies(plant, store)
    living = await plant.remember(scope, "我住在苏州", "好的。")
    await copies.put(scope, memory, "喜欢北京烤鸭")
    await copies.put(scope, living, f"{SAID} 我住在苏州")
    await copies.put(stranger, uuid4(), SAID)
    await copies.put(scope, stray, f"摘要：{SAID}")
    await register(plant, store=store)
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.until(scope, receipt, lambda each: app(each).checks.get("by_id") == 0)
    assert (shown.decision, app(shown).state) == ("DELETION_PENDING", "present")
    assert app(shown).checks == {"by_id": 0, "exact_text": 1, "neighbours": 1}
    await copies.drop([str(stray)])
    await plant.until(scope, receipt)


async def test_all_of_a_person_goes_from_every_layer_that_can_tell_persons_apart(plant: Plant) -> None:
    """Endpoint and stores lose all of the person and nothing else; a store that cannot tell proves nothing."""
    scope, stranger = await plant.person(), await plant.person()
    await plant.remember(scope, SAID, "好的。")
    for store in (KEYS, TABLE):
        for owner in (scope, stranger):
            await Copies(plant, store).put(owner, uuid4(), SAID)
    blind = RedisKeys(pattern="cache:{memory}")
    async with application(public(plant)) as there:
        there.held = {str(uuid4()), str(uuid4())}
        there.of = {str(scope.subject_id): set(sorted(there.held)[:1])}
        await register(plant, there.url, attested=True)
        for name, store in (("redis", KEYS), ("postgres", TABLE), ("blind", blind)):
            await register(plant, store=store, name=name)
        receipt = await plant.composition.backend.forgetter.forget_whole(scope, "person", "agent")
        await plant.sealed()
        await plant.follow()
        shown = await plant.until(scope, receipt, lambda each: unproven(each) == {"foreign:blind"})
        foreign = {each.layer: each.state for each in shown.layers if each.layer.startswith("foreign:")}
        assert foreign == {
            "foreign:app": "absent",
            "foreign:redis": "unreclaimed",
            "foreign:postgres": "unreclaimed",
            "foreign:blind": "cannot_prove",
        }
        assert shown.decision == "DELETION_PENDING"
        assert len(there.held) == 1
        await plant.composition.owners_directory.remove(plant.tenant, "blind")
        await plant.until(scope, receipt)
    for layer in await plant.composition.directory.of(plant.tenant):
        if layer.name in {"foreign:redis", "foreign:postgres"}:
            assert layer._store is not None
            left = await layer._store.look(Asked(stranger.tenant_id, stranger.subject_id))
            assert left.by_id == 1
    for name in ("app", "redis", "postgres"):
        await plant.composition.owners_directory.remove(plant.tenant, name)


async def test_an_endpoint_that_keeps_failing_is_left_alone(plant: Plant) -> None:
    """Two tries a call; after five failed calls it is asked no more, and the answer is that nothing is known."""
    scope = Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))
    async with application(public(plant), "failing") as there:
        endpoint = Endpoint(there.url, RequestSigner(plant.composition.settings.keys), BEARER)
        for _ in range(7):
            with pytest.raises(ForeignError):
                await endpoint.held(Asked(scope.tenant_id, scope.subject_id, (uuid4(),)))
        assert len(there.sent) == 5 * TRIES
        await endpoint.close()


async def outcomes(plant: Plant, there: Application, held: MemoryId | None) -> dict[str, str | None]:
    endpoint = Endpoint(there.url, RequestSigner(plant.composition.settings.keys), BEARER)
    try:
        return {each.what: each.wrong async for each in conformance(endpoint, held)}
    finally:
        await endpoint.close()


@pytest.mark.parametrize(
    ("mood", "wrong"), [("honest", 0), ("credulous", 2), ("lying", 2), ("rubbish", 10), ("dying", 10)]
)
async def test_the_conformance_test_tells_who_keeps_the_contract(plant: Plant, mood: Mood, wrong: int) -> None:
    """An honest endpoint passes; one that checks no signature, keeps what it erased, or answers rubbish fails."""
    async with application(public(plant), mood) as there:
        memory = MemoryId(uuid4())
        there.held = {str(memory)}
        found = await outcomes(plant, there, memory)
    assert (len(found), sum(each is not None for each in found.values())) == (10, wrong), found


@pytest.mark.parametrize(("mood", "code"), [("honest", 0), ("lying", 1)])
async def test_anybody_runs_the_conformance_test_against_their_own_endpoint(
    plant: Plant, tmp_path: Path, mood: Mood, code: int
) -> None:
    """The command needs an address, an id it may erase and the keys of the data directory, and nothing that runs."""
    async with application(public(plant), mood) as there:
        memory = MemoryId(uuid4())
        there.held = {str(memory)}
        held = ("--held", str(memory), "--tenant-id", str(plant.tenant), "--subject-id", str(uuid4()))
        data, bearer = plant.composition.settings.data, tmp_path / "bearer"
        bearer.write_text(BEARER, encoding="ascii")
        bearer.chmod(0o600)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "from cenotaph.boot import main; main()"),
            *("layers", "check", there.url, *held, "--bearer-file", str(bearer), "--data", str(data)),
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await process.communicate()
    assert process.returncode == code, said.decode()
    assert ("fails" in said.decode()) is bool(code)


async def test_a_registration_keeps_its_secrets_apart(plant: Plant, tmp_path: Path) -> None:
    """Addresses and tokens lie in a file of mode 0600, not in the table, and go with the layer."""
    directory = Directory(plant.composition.log(None), plant.composition.log(None), tmp_path)
    tenant = await plant.composition.vault("keeper").create_tenant()
    added = Registration(name="rag", url=None, store=TABLE, attested=False, added_at=datetime.now(UTC))
    await directory.add(tenant, added, Secrets(store_url="postgresql://user:moonlake@db/rag"))
    assert await directory.list(tenant) == [added]
    with pytest.raises(BadInputError):
        await directory.add(tenant, added, Secrets())
    (secret,) = (tmp_path / "layers").iterdir()
    assert secret.stat().st_mode & 0o777 == 0o600
    async with plant.owner() as connection:
        assert "moonlake" not in str(await connection.fetch("select * from ops.layer"))
    assert await directory.remove(tenant, "rag")
    assert not await directory.remove(tenant, "rag")
    assert list((tmp_path / "layers").iterdir()) == []
