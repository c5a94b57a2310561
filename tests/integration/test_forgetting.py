"""What a forget takes along, what it leaves, and what it may never do, on real stores."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from events.envelope import StoredEvent
from events.model import Accepted, KeyId, MemoryId, Scope, Tombstoned
from services.forgetting.receipt import verify
from services.wire.memories import MemoryStatus
from services.wire.recall import ContextRequest
from tests.plant import ACTOR, Plant, planted

RACES = 12


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


def tombstones(stream: list[StoredEvent]) -> list[Tombstoned]:
    return [each.event for each in stream if isinstance(each.event, Tombstoned)]


@pytest.mark.parametrize(
    ("said", "asked"),
    [("请记住：我喜欢北京烤鸭。", "晚饭吃什么"), ("Remember that I love hiking.", "What shall we do on Sunday?")],
)
async def test_a_forgotten_memory_is_gone_and_its_receipt_signed(plant: Plant, said: str, asked: str) -> None:
    """After the forget nothing returns it; the receipt verifies offline and fails after one changed byte."""
    scope = await plant.person()
    memory = await plant.remember(scope, said, "好的。OK.")
    assert memory in await plant.recalled(scope, asked)
    receipt = await plant.forget(scope, memory)
    for question in (said, asked):
        assert await plant.recalled(scope, question) == {}
    await plant.follow()
    shown = await plant.until(scope, receipt)
    assert shown.decision == "deletion_propagated", shown.layers
    assert set(shown.negative_queries.values()) == {0}
    assert shown.statement is not None
    assert shown.signature is not None
    assert shown.signing_key is not None
    assert verify(shown.statement, shown.signature, shown.signing_key)
    for place in range(0, len(shown.statement), 97):
        changed = shown.statement[:place] + chr(ord(shown.statement[place]) ^ 1) + shown.statement[place + 1 :]
        assert not verify(changed, shown.signature, shown.signing_key)


async def test_the_receipt_names_the_layers_of_the_contract(plant: Plant) -> None:
    """The signed statement holds what R42 asks for, and no word of the person."""
    scope = await plant.person()
    memory = await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "好的，北京烤鸭。")
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.finish(scope, receipt)
    assert shown.statement is not None
    statement = json.loads(shown.statement)
    assert statement["memory_id"] == str(memory)
    assert statement["tenant_id"] == str(scope.tenant_id)
    names = {layer["layer"] for layer in statement["layers"]}
    assert {"vector_index", "semantic_cache", "summary_store", "async_queue", "backup_manifest"} <= names
    assert {"tombstone_version", "negative_queries", "decision", "keys_die_by", "out_of_scope"} <= statement.keys()
    tombstone = await plant.tombstone(scope, receipt)
    assert statement["tombstone_position"] == tombstone.position
    assert all(layer.get("position", tombstone.position) >= tombstone.position for layer in statement["layers"])


async def test_keys_roll_under_everything(plant: Plant) -> None:
    """A roll between two forgets, and one while a deletion is pending: receipts are signed, the rest is recalled."""
    scope = await plant.person()
    memory = await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "好的。")
    kept = await plant.remember(scope, "I live in Suzhou.", "OK.")
    receipt = await plant.forget(scope, memory)
    roller, schedule = plant.composition.roller, plant.composition.schedule
    pending = await plant.composition.backend.receipt(scope, receipt)
    assert pending is not None
    assert pending.keys_die_by is not None
    assert pending.keys_die_by >= schedule.keys_die_by(pending.requested_at)
    with capture_logs() as logs:
        await roller.roll()
        await plant.follow()
        shown = await plant.finish(scope, receipt)
        assert (await roller.state()).due
        await roller.roll()
        assert not (await roller.state()).due
        assert kept in await plant.recalled(scope, "Where do I live?")
        await plant.rebuild("facts")
        await plant.rebuild("keywords")
        assert kept in await plant.recalled(scope, "Where do I live?")
    assert shown.decision == "deletion_propagated"
    assert shown.propagated_at is not None
    assert shown.statement is not None
    assert shown.keys_die_by == schedule.keys_die_by(shown.propagated_at)
    assert datetime.fromisoformat(json.loads(shown.statement)["keys_die_by"]) == shown.keys_die_by
    assert [line["event"] for line in logs if line["log_level"] == "error"] == []


async def test_forgetting_again_returns_the_first_receipt(plant: Plant) -> None:
    """Forget is idempotent, before and after its receipt, and 20 at once write one tombstone."""
    scope = await plant.person()
    memory = await plant.remember(scope, "I live in Suzhou.", "OK.")
    forget = plant.composition.backend.forgetter.forget
    receipts = set(await asyncio.gather(*(forget(scope, memory, ACTOR) for _ in range(20))))
    assert len(receipts) == 1
    await plant.follow()
    (receipt,) = receipts
    assert receipt is not None
    first = await plant.finish(scope, receipt)
    assert await forget(scope, memory, ACTOR) == receipt
    assert (await plant.finish(scope, receipt)).statement == first.statement
    assert len(tombstones(await plant.stream(scope))) == 1


async def test_finishing_twenty_times_at_once_signs_one_receipt(plant: Plant) -> None:
    """Finishers of one tombstone that run side by side leave one receipt and no key behind."""
    scope = await plant.person()
    memory = await plant.remember(scope, "我住在苏州", "好的。")
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    finisher, position = plant.finisher(), (await plant.tombstone(scope, receipt)).position
    assert position is not None
    await asyncio.gather(*(finisher.finish(position) for _ in range(20)))
    shown = await plant.until(scope, receipt)
    assert shown.decision == "deletion_propagated"
    async with plant.owner() as connection:
        receipts = await connection.fetchval(
            "select count(*) from log.event where stream = $1", f"receipts/{scope.subject_id}"
        )
    async with plant.vault() as connection:
        keys = await connection.fetchval("select count(*) from vault.data_key where subject_id = $1", scope.subject_id)
    assert (receipts, keys) == (1, 0)


async def test_unknown_and_foreign_ids_are_nobodys(plant: Plant) -> None:
    """A forget of an id that is unknown, or another person's, does nothing and says nothing."""
    one, other = await plant.person(), await plant.person()
    mine = await plant.remember(one, "我住在苏州", "好的。")
    await plant.remember(other, "我住在杭州", "好的。")
    forget = plant.composition.backend.forgetter.forget
    assert await forget(one, MemoryId(uuid4()), ACTOR) is None
    assert await forget(other, mine, ACTOR) is None
    assert await forget(await plant.person(), mine, ACTOR) is None
    assert tombstones(await plant.stream(one)) == tombstones(await plant.stream(other)) == []
    assert mine in await plant.recalled(one, "我住在哪里")


@pytest.mark.parametrize("first", ["forget", "supersede"])
async def test_a_forget_that_races_with_a_supersede_leaves_no_version_readable(plant: Plant, first: str) -> None:
    """Whoever wins, every version of the forgotten memory is named by its tombstone and loses its key."""
    for _ in range(RACES):
        scope = await plant.person()
        memory = await plant.remember(scope, "我住在苏州", "好的。")
        position = await plant.placed(scope, plant.turn("我搬家了，现在住在杭州", "恭喜！"))
        forget = plant.composition.backend.forgetter.forget(scope, memory, ACTOR)
        supersede = plant.rememberer.consider(position)
        pair = [forget, supersede] if first == "forget" else [supersede, forget]
        results = await asyncio.gather(*pair)
        receipt = results[pair.index(forget)]
        await plant.follow()
        shown = await plant.finish(scope, receipt)  # type: ignore[arg-type]
        assert shown.decision == "deletion_propagated", shown.layers
        stream = await plant.stream(scope)
        versions = [each for each in stream if isinstance(each.event, Accepted) and each.event.memory_id == memory]
        keys = {part.key_id for version in versions for part in version.parts}
        assert await plant.composition.vault("opener").present(keys) == set()
        detail = await plant.composition.backend.memory(scope, memory)
        assert detail is not None
        assert {each.status for each in detail.versions} == {MemoryStatus.FORGOTTEN}
        assert {each.content for each in detail.versions} == {None}
        assert memory not in await plant.recalled(scope, "我住在哪里")


async def test_siblings_of_one_message_stay_and_say_that_their_source_is_gone(plant: Plant) -> None:
    """A message that says three things goes with the first that is forgotten; the other memories live on, marked."""
    scope = await plant.person()
    outcome = await plant.say(scope, "我叫沈亦然，住在苏州，做后端开发。", "你好，亦然。")
    ids = [verdict.memory_id for verdict in outcome.verdicts]
    assert len(ids) == 3
    receipt = await plant.forget(scope, ids[1])
    assert tombstones(await plant.stream(scope))[0].orphaned == tuple(sorted([ids[0], ids[2]]))
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    recalled = await plant.recalled(scope, "介绍一下我")
    assert set(recalled) == {ids[0], ids[2]}
    for each in (ids[0], ids[2]):
        detail = await plant.composition.backend.memory(scope, each)
        assert detail is not None
        assert detail.status is MemoryStatus.ACTIVE
        assert {source.state for source in detail.sources} == {"forgotten"}


async def test_messages_that_reinforced_a_memory_go_with_it(plant: Plant) -> None:
    """Every message that said it again is fenced, and none of its words can be opened."""
    scope = await plant.person()
    memory = await plant.remember(scope, "我住在苏州", "好的。")
    again = await plant.say(scope, "我现在住在苏州", "知道。")
    assert [(each.outcome, each.memory_id) for each in again.verdicts] == [("reinforced", memory)]
    receipt = await plant.forget(scope, memory)
    (tombstone,) = tombstones(await plant.stream(scope))
    turns = await plant.turns(scope)
    assert set(tombstone.turns) == {each.event.turn_id for each in turns}  # type: ignore[attr-defined]
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    async with plant.owner() as connection:
        left = await connection.fetchval("select count(*) from log.body where subject_id = $1", scope.subject_id)
    assert left == 0


@pytest.mark.parametrize("followed", [True, False])
async def test_answers_into_which_a_memory_was_injected_go_with_it(plant: Plant, followed: bool) -> None:
    """The assistant's words of a turn that had the memory in its context go, however far the session store has come."""
    scope = await plant.person()
    memory = await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "好的。")
    context = await plant.composition.backend.context(
        scope, ContextRequest.model_validate({"query": "晚饭吃什么", "role": "chat"})
    )
    assert memory in {each.memory_id for each in context.memories}
    turn = plant.turn("晚饭吃什么？", "按你的口味，吃北京烤鸭吧。", contexts=[context.context_id])
    await plant.store(scope, turn)
    if followed:
        await plant.follow()
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.until(scope, receipt)
    assert shown.decision == "deletion_propagated"
    assert shown.injected_turns == (turn.turn_id,)
    later = (await plant.turns(scope))[-1]
    keyring = await plant.composition.vault("opener").keyring(scope)
    user, assistant = later.parts
    assert set(await keyring.load([user.key_id, assistant.key_id])) == {user.key_id}


async def test_a_forgotten_turn_that_is_sent_again_stores_nothing(plant: Plant) -> None:
    """The same turn id is answered `forgotten`; no event, no body, no key is added, and nothing is remembered again."""
    scope = await plant.person()
    turn = plant.turn("请记住：我喜欢北京烤鸭。", "好的。")
    position = await plant.placed(scope, turn)
    await plant.rememberer.consider(position)
    await plant.follow()
    (memory,) = await plant.recalled(scope, "晚饭吃什么")
    receipt = await plant.forget(scope, memory)
    for finished in (False, True):
        if finished:
            await plant.follow()
            assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
        before = await rows(plant, scope)
        assert (await plant.store(scope, turn)).state == "forgotten"
        assert await rows(plant, scope) == before
        assert await plant.rememberer.consider(position) is None
    assert await plant.recalled(scope, "晚饭吃什么") == {}


async def rows(plant: Plant, scope: Scope) -> dict[str, int]:
    async with plant.owner() as connection:
        counts = {
            table: await connection.fetchval(f"select count(*) from {table} where subject_id = $1", scope.subject_id)  # noqa: S608 - our own table names
            for table in ("log.event", "log.body", "sessions.turn", "sessions.message", "ops.dead_letter")
        }
    async with plant.vault() as connection:
        for table in ("vault.data_key", "vault.alias"):
            counts[table] = await connection.fetchval(
                f"select count(*) from {table} where subject_id = $1",  # noqa: S608 - our own table names
                scope.subject_id,
            )
    return counts


async def test_the_key_of_the_probes_dies_with_the_receipt(plant: Plant) -> None:
    """What the probes needed to know is sealed while the receipt is pending, and cannot be opened afterwards."""
    scope = await plant.person()
    memory = await plant.remember(scope, "我住在苏州", "好的。")
    receipt = await plant.forget(scope, memory)
    assert (await plant.finish(scope, receipt)).decision == "DELETION_PENDING"  # no read model has followed
    async with plant.owner() as connection:
        row = await connection.fetchrow("select probe_key, probe from ops.erasure where tombstone = $1", receipt)
    assert row is not None
    assert "苏州".encode() not in row["probe"]
    opener = plant.composition.vault("opener")
    assert await opener.present([KeyId(row["probe_key"])])
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    assert not await opener.present([KeyId(row["probe_key"])])


async def test_the_key_of_the_probes_lives_for_a_day_at_most(plant: Plant) -> None:
    """A deletion that stays pending for longer loses what it asks for, says why, and can only be closed then."""
    scope = await plant.person()
    receipt = await plant.forget(scope, await plant.remember(scope, "我住在苏州", "好的。"))
    assert (await plant.finish(scope, receipt)).unasked is None  # no read model has followed
    async with plant.owner() as connection:
        key = await connection.fetchval(
            "update ops.erasure set prepared_at = prepared_at - interval '25 hours' where tombstone = $1"
            " returning probe_key",
            receipt,
        )
    await plant.follow()
    shown = await plant.finish(scope, receipt)
    assert (shown.decision, shown.unasked) == ("DELETION_PENDING", "expired")
    assert "cannot_prove" in {each.state for each in shown.layers if each.layer == "read_path"}
    assert not await plant.composition.vault("opener").present([KeyId(key)])


async def test_a_finisher_killed_after_the_receipt_still_destroys_the_probes_key(plant: Plant) -> None:
    """A receipt whose probes' key a crash left alive is still due, without any job, and ends with the key gone."""
    scope = await plant.person()
    memory = await plant.remember(scope, "我住在苏州", "好的。")
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    await plant.finish(scope, receipt)
    (key,) = await (await plant.composition.vault("keeper").keyring(scope)).lease(1)
    async with plant.owner() as connection:
        await connection.execute(
            "update ops.erasure set probe_key = $2, cleared_at = null, tried_at = now() - interval '1 hour'"
            " where tombstone = $1",
            receipt,
            key.key_id,
        )
        position = await connection.fetchval(
            "select s.position from log.event e join log.sealed s using (seq) where e.event_id = $1", receipt
        )
    assert position in await plant.composition.finisher.pending()
    await plant.finish(scope, receipt)
    assert not await plant.composition.vault("opener").present([key.key_id])
    assert position not in await plant.composition.finisher.pending()


async def test_nothing_in_the_clear_holds_a_word_of_the_person(plant: Plant) -> None:
    """Envelopes, read models, erasures, reads and receipts hold ids, numbers and generic reasons, before and after."""
    scope = await plant.person()
    words = ("烤鸭", "Zanzibar", "茉莉")
    memory = await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "Zanzibar 茉莉")
    await plant.say(scope, "请记住：我喜欢茉莉花茶。", "烤鸭 and Zanzibar")
    await plant.composition.backend.context(
        scope, ContextRequest.model_validate({"query": "烤鸭 Zanzibar", "role": "chat"})
    )
    assert not await clear_words(plant, words)
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.until(scope, receipt)
    assert shown.decision == "deletion_propagated"
    assert not any(word in shown.model_dump_json() for word in words)
    assert not await clear_words(plant, words)


async def clear_words(plant: Plant, words: tuple[str, ...]) -> list[str]:
    """Dump every table of both clusters as text, byte columns decoded too; return where a word occurs."""
    found = []
    for look in (plant.owner, plant.vault):
        async with look() as connection:
            tables = await connection.fetch(
                "select format('%I.%I', schemaname, tablename) as name from pg_tables"
                " where schemaname not in ('pg_catalog', 'information_schema')"
            )
            for table in tables:
                for row in await connection.fetch(f"select * from {table['name']}"):  # noqa: S608 - names of the catalogue
                    text = " ".join(
                        value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
                        for value in row.values()
                    )
                    found += [f"{table['name']}: {word}" for word in words if word in text]
    return found
