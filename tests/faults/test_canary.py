"""No word of a person lies in any file of any store, before a forget and after; whatever is planted is found."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis.asyncio as redis
from pymilvus import DataType, MilvusClient

from events.postgres import Database
from services.forgetting.append_only import generated, rewritten
from services.forgetting.foreign.directory import Registration, Secrets
from services.forgetting.foreign.signing import RequestSigner
from services.residue.needle import Find, Needle
from services.residue.search import search_files
from tests.application import application
from tests.faults.house import House, housed
from tests.faults.lives import Lives, lives
from tests.faults.search import search_tables
from workers.jobs import TURNS

TAG = uuid4().hex[:10]
HTTP = (Needle("琥珀曦岚"), Needle(f"amber{TAG}"))
STREAM = (Needle("霜叶渔歌"), Needle(f"maple{TAG}"))
REFUSED = (Needle("墨痕竹影"), Needle(f"inkwell{TAG}"))
QUERY = (Needle("云帆鹤汀"), Needle(f"heron{TAG}"))
TASK = (Needle("松涛晚照"), Needle(f"pinewave{TAG}"))
DOORS = (Needle("竹露荷风"), Needle(f"bamboo{TAG}"))
SECRET = (Needle(f"hunter2{TAG}"),)
LAYER = (Needle(f"layer-at-{TAG}"), Needle(f"bearer-{TAG}"))
NAMES = tuple(Needle(f"{kind}-{TAG}") for kind in ("person", "session", "turn", "message", "task", "fact", "project"))
EVERYTHING = (*HTTP, *STREAM, *REFUSED, *QUERY, *TASK, *DOORS, *SECRET, *NAMES)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Run the servers."""
    async with housed(tmp_path) as house:
        yield house


def turn(name: str, said: str, answer: str) -> dict[str, Any]:
    return {
        "schema": "cenotaph.turn/1",
        "turn_id": f"turn-{TAG}-{name}",
        "session_id": f"session-{TAG}",
        "occurred_at": "2026-08-01T09:00:00+08:00",
        "messages": [
            {"message_id": f"message-{TAG}-1", "role": "user", "content": said},
            {"message_id": f"message-{TAG}-2", "role": "assistant", "content": answer},
        ],
    }


async def considered(held: Lives, token: str, name: str) -> dict[str, Any]:
    async with asyncio.timeout(90):
        while True:
            outcome = await held.call("GET", f"/v1/turns/turn-{TAG}-{name}", token=token, wanted=(404,))
            if outcome.get("state") == "considered":
                return outcome
            await asyncio.sleep(0.05)


async def worked(held: Lives, key: str, memory: str) -> None:
    """Begin a task with a goal, a step and a fact that rests on a memory, and leave it running."""
    minted = await held.call("POST", "/v1/tokens", {"subject": f"person-{TAG}", "role": "workflow"}, key)
    zh, en = (needle.text for needle in TASK)
    begun = {
        "command_id": "c1",
        "task_id": f"task-{TAG}",
        "type": zh,
        "name": en,
        "goal": f"{zh} {en}",
        "constraints": [zh],
        "steps": [en],
    }
    seen = await held.call("POST", "/v1/tasks", begun, minted["token"])
    fact = {"do": "observe", "facts": [{"text": f"{zh} {HTTP[0].text}", "memories": [memory]}]}
    command = {"command_id": "c2", "expected_version": seen["version"], "change": fact}
    told = await held.call("POST", f"/v1/tasks/task-{TAG}", command, minted["token"])
    assert told["key_facts"][0]["text"] == f"{zh} {HTTP[0].text}"


async def summed_up(held: Lives, house: House, token: str) -> None:
    """Say what binds, turn after turn, until the session has a summary."""
    zh, en = (needle.text for needle in STREAM)
    for number in range(20):
        said = turn(f"more{number}", f"{zh}不能超过{number}元。Never without {en}.", "好的。")
        await held.call("POST", "/v1/turns", said, token)
        await considered(held, token, f"more{number}")
        async with house.composition.log(None).connection() as connection:
            if await connection.fetchval("select count(*) from log.event where type = 'summary_written'"):
                return
    raise AssertionError("no summary was written in twenty turns")


async def went_through(held: Lives, house: House, token: str, memory: str) -> None:
    """Say it at every other door: a wish, a consent, what is held, a system's fact, a project, an export, each look."""
    zh, en = (needle.text for needle in DOORS)
    tokens = {}
    for role, bound in (("person", {}), ("agent", {"project": f"project-{TAG}"})):
        asked = {"subject": f"person-{TAG}", "role": role} | bound
        tokens[role] = (await held.call("POST", "/v1/tokens", asked, house.key))["token"]
    person = tokens["person"]
    system = await house.composition.register_system(house.tenant, "crm", frozenset({"membership.tier"}))
    asked = {"subject": f"person-{TAG}", "role": "system"}
    stating = (await held.call("POST", "/v1/tokens", asked, system))["token"]
    fact = {"fact_id": f"fact-{TAG}", "key": "membership.tier", "value": zh, "content": f"{zh} {en}"}
    await held.call("POST", "/v1/facts", fact | {"occurred_at": "2026-03-01T09:30:00+08:00"}, stating)
    await held.call("POST", "/v1/suppressions", {"description": f"anything about {en}, {zh}"}, person)
    await held.call("PUT", "/v1/consents/health", {"given": True}, person)
    for name, said, by in (
        ("allergy", f"我对{zh}过敏。I am allergic to {en}.", token),
        ("later", f"以后别记我的{zh}。From now on don't remember my {en}.", token),
        ("bound", f"请记住：这个项目用{zh}。Remember: this project uses {en}.", tokens["agent"]),
    ):
        await held.call("POST", "/v1/turns", turn(name, said, f"{en} / {zh}"), by)
        await considered(held, by, name)
    for path in (
        *("/v1/inbox", "/v1/profile", "/v1/consents", "/v1/suppressions", "/v1/memories", "/v1/receipts"),
        *(f"/v1/memories/{memory}{part}" for part in ("", "/explain", "/where")),
    ):
        await held.ask("GET", path, token=person)
    context = await held.call("POST", "/v1/context", {"query": f"{zh} {en}", "role": "chat"}, tokens["agent"])
    await held.ask("GET", f"/v1/traces/{context['context_id']}", token=person)
    await held.call("POST", "/v1/forget/preview", {"description": f"{zh} {en}"}, person)
    for word in ("suspend", "resume"):
        await held.call("POST", f"/v1/memories/{memory}/{word}", token=person)
    exported = await held.ask("POST", "/v1/exports", {"purpose": "download"}, person)
    assert HTTP[0].text in exported.text
    bad = {"description": zh, "digest": en}
    await held.call("POST", "/v1/forget/described", bad, person, wanted=(422,))
    measured = (await held.ask("GET", "/metrics", token=person)).text
    assert "cenotaph_" in measured
    assert not [needle for needle in EVERYTHING if needle.text in measured]


async def letter(house: House) -> str:
    """Wait for the dead letter; return what it says, opened."""
    scope = await house.scope(f"person-{TAG}")
    async with asyncio.timeout(90):
        while not (letters := await house.composition.letters.of(scope)):  # noqa: ASYNC110 - another process parks it
            await asyncio.sleep(0.05)
    return letters[0].text or ""


async def settle(house: House) -> None:
    """Make every store write what it holds in memory to its files."""
    for url in (house.composition.endpoints.database_url, house.composition.endpoints.vault_url):
        database = Database(url, None)
        async with database.connection() as connection:
            await connection.execute("checkpoint")
        await database.close()
    await house.composition.vectors.flush("memory_v1")


async def search(house: House, *needles: Needle) -> set[Find]:
    """Search every file, and every table of both clusters."""
    await settle(house)
    looked = search_files(house.data, needles)
    assert looked.doubts == set()
    found = looked.found
    for url in (house.composition.endpoints.database_url, house.composition.endpoints.vault_url):
        database = Database(url, None)
        async with database.connection() as connection:
            found |= await search_tables(connection, needles)
        await database.close()
    return found


async def ciphertexts(house: House, memory: str) -> list[Needle]:
    """Return every ciphertext that goes when a memory is forgotten: its own, and those of the messages that said it."""
    async with house.composition.log(None).connection() as connection:
        rows = await connection.fetch(
            "select ciphertext from log.body where event_id in (select event_id from facts.memory where memory_id = $1"
            " union select t.event_id from sessions.turn t join facts.memory m using (turn_id) where m.memory_id = $1"
            " union select event_id from log.event where type = 'task_observed')",
            memory,
        )
    return [Needle(raw=row["ciphertext"]) for row in rows]


async def rewritten_file(client: "redis.Redis") -> None:
    """Wait until the ingest worker has had the file rewritten."""
    async with asyncio.timeout(90):
        while await rewritten(client) < await generated(client):  # noqa: ASYNC110 - another process asks for it
            await asyncio.sleep(0.05)


@pytest.mark.timeout(600)
async def test_no_word_lies_in_any_file(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came over HTTP, XADD, a refused XADD or a query is in no file: Redis's own is rewritten by the worker."""
    monkeypatch.setenv("CENOTAPH_REWRITE_EVERY_S", "1")
    zh, en = (needle.text for needle in HTTP)
    async with lives(house.composition.endpoints, house.data, house.data / "hits") as held:
        held.begin()
        minted = await held.call("POST", "/v1/tokens", {"subject": f"person-{TAG}", "role": "agent"}, house.key)
        token = minted["token"]
        for name, text in (("zh", f"请记住：我喜欢{zh}茶。"), ("en", f"Remember: I like {en} tea.")):
            await held.call("POST", "/v1/turns", turn(name, text, f"{zh} / {en}"), token)
        secret = f"数据库密码：{SECRET[0].text}，请勿外传"
        await held.call("POST", "/v1/turns", turn("secret", secret, f"密码是 {zh}"), token)
        kept = [(await considered(held, token, name))["verdicts"] for name in ("zh", "en", "secret")]
        assert [len(each) for each in kept] == [1, 1, 0]

        client = redis.from_url(house.composition.endpoints.redis_url)
        handed = turn("stream", f"请记住：我喜欢{STREAM[0].text}和{STREAM[1].text}。", "好的。")
        await client.xadd(TURNS, {"token": token, "turn": json.dumps(handed)})
        await considered(held, token, "stream")
        refused = turn("refused", f"{REFUSED[0].text} {REFUSED[1].text}", "好的。") | {"status": "no such status"}
        await client.xadd(TURNS, {"token": token, "turn": json.dumps(refused, ensure_ascii=False)})
        parked = await letter(house)
        assert all(needle.text in parked for needle in REFUSED)  # kept, but sealed

        for query in (QUERY[0].text, QUERY[1].text, zh):
            body = {"query": query, "role": "chat"}
            context = await held.call("POST", "/v1/context", body, token)
            assert query != zh or zh in context["text"]  # a word that says nothing recalls what it happens to
            await held.call("POST", "/v1/memories/search", body, token)
        bad = turn("bad", zh, en) | {"status": zh}
        await held.call("POST", "/v1/turns", bad, token, wanted=(422,))

        await rewritten_file(client)
        assert await client.xlen(TURNS) == 0
        memory = kept[0][0]["memory_id"]
        await worked(held, house.key, memory)
        await went_through(held, house, token, memory)
        await summed_up(held, house, token)
        sealed = await ciphertexts(house, memory)
        assert len(sealed) == 5  # the memory, its index part, both messages, the fact of a task that rests on it
        found = await search(house, *EVERYTHING, *sealed)
        assert {find.needle for find in found} == {*sealed}
        assert {find.place for find in found} >= {"log.body"}
        receipt = await held.call("POST", "/v1/forget", {"memory_id": memory}, token)
        async with asyncio.timeout(90):
            while receipt["decision"] != "deletion_propagated":
                await asyncio.sleep(0.1)
                receipt = await held.call("GET", f"/v1/receipts/{receipt['receipt_id']}", token=token)
        # propagated, not purged: no table returns the ciphertext; bytes no key opens are left in the files of the log
        found = await search(house, *EVERYTHING, *sealed)
        assert {find for find in found if find.needle not in sealed or not find.place.startswith("log/")} == set()
        await client.aclose()
        await forgotten_tenant(held, house, sealed)
        await held.end()


async def forgotten_tenant(held: Lives, house: House, sealed: list[Needle]) -> None:
    """Forget the whole tenant, with a layer of an application: nothing of it is in a table or a file of keys."""
    composition = house.composition
    async with application(RequestSigner(house.data / "keys").public, "credulous") as app:
        layer = Registration(
            name="app", url=f"{app.url}/{LAYER[0].text}", store=None, attested=True, added_at=datetime.now(UTC)
        )
        await composition.owners_directory.add(house.tenant, layer, Secrets(bearer=LAYER[1].text))
        looked = search_files(house.data / "keys", LAYER)
        assert {find.needle for find in looked.found} == {LAYER[1]}
        digest = (await held.call("GET", "/v1/tenant/forget", token=house.key))["digest"]
        receipt = await held.call("POST", "/v1/tenant/forget", {"digest": digest}, house.key)
        capability, receipt_id = receipt["capability"], receipt["receipt_id"]
        async with asyncio.timeout(60):
            while receipt["decision"] != "deletion_propagated":
                await asyncio.sleep(0.1)
                receipt = await held.call("GET", f"/v1/receipts/{receipt_id}", token=capability)
            cleared = "select cleared_at is not null from ops.erasure where tombstone = $1"
            async with composition.log(None).connection() as connection:
                while not await connection.fetchval(cleared, receipt_id):  # noqa: ASYNC110 - another process does it
                    await asyncio.sleep(0.05)
        assert any(path.endswith("/erase") for path, _ in app.sent), "the application was asked before it was dropped"
    found = await search(house, *EVERYTHING, *LAYER, *sealed)
    # freed pages and the write-ahead log keep the addresses of layers and bytes that no key opens
    files = {find for find in found if find.place.startswith(("log/", "vault/"))}
    assert {find.needle for find in files} <= {*sealed, *LAYER}
    assert found == files


async def test_the_search_finds_what_each_store_writes(house: House) -> None:
    """A needle written unsealed by every store's own writer is found in the files of that store, and in its tables."""
    needle = Needle(f"琥珀needle{TAG}")
    endpoints = house.composition.endpoints
    for url in (endpoints.database_url, endpoints.vault_url):
        database = Database(url, None)
        async with database.connection() as connection:
            await connection.execute("create table public.planted (words text, bytes bytea)")
            await connection.execute(
                "insert into public.planted values ($1, $2)", needle.text, needle.text.encode("utf-16-le")
            )
        await database.close()
    client = redis.from_url(endpoints.redis_url)
    await client.xadd(TURNS, {"turn": json.dumps({"content": needle.text})})
    await client.aclose()
    await asyncio.to_thread(plant_vectors, endpoints.milvus_uri, needle.text)
    for folder in ("second-place", "keys", "logs"):
        (house.data / folder).mkdir(exist_ok=True)
        (house.data / folder / "planted").write_text(f"…{needle.text}…", encoding="utf-16-be")
    found = await search(house, needle)
    places = {(find.place.split("/")[0], find.form.removeprefix("decoded ")) for find in found}
    assert {
        ("log", "utf-8"),
        ("log", "utf-16-le"),
        ("vault", "utf-8"),
        ("valkey", "json"),
        ("milvus", "utf-8"),
        ("second-place", "utf-16-be"),
        ("keys", "utf-16-be"),
        ("logs", "utf-16-be"),
        ("public.planted", "utf-8"),
        ("public.planted", "utf-16-le"),
    } <= places
    assert any("pg_wal" in find.place and find.place.startswith("log/") for find in found)
    assert any("base/" in find.place and find.place.startswith("log/") for find in found)
    packed = {find for find in found if find.place.endswith(".parquet")}
    assert packed
    assert any(find.form.startswith("decoded") for find in packed)


def plant_vectors(uri: str, words: str) -> None:
    """Write words into a collection, many times so that they are compressed, and flush them into a file."""
    client = MilvusClient(uri, dedicated=True)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("words", DataType.VARCHAR, max_length=200)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=4)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="IP")
    client.create_collection("planted", schema=schema, index_params=index)
    rows = [{"id": number, "words": f"{number} {words}", "vector": [1.0, 0.0, 0.0, 0.0]} for number in range(200)]
    client.insert("planted", rows)
    client.flush("planted")
    client.close()
