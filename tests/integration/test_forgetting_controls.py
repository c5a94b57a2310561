"""Whatever keeps a forgotten memory alive anywhere keeps its receipt pending, and mending it lets the receipt through.

Without these, a receipt that reads "propagated" would prove nothing: each probe is shown to see what it is for.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import uuid4

import pytest
import redis.asyncio as redis

from events.bodies import open_bodies
from events.envelope import Command, NewEvent, Part, StoredEvent, memory_stream
from events.log import read_events
from events.model import (
    MEMORY_PART,
    Accepted,
    CandidateProposed,
    CommandId,
    IndexBody,
    KeyId,
    MemoryBody,
    MemoryId,
    Scope,
    Tombstoned,
    TurnFinalized,
)
from events.postgres import Connection
from ops.embedded import MILVUS, VALKEY
from projections.facts import read_memories
from projections.index import PART as INDEX
from services.access.rights import TokenRole
from services.forgetting.question import Question
from services.wire.recall import ContextRequest
from services.wire.receipts import ReceiptView
from services.wire.tasks import TaskChange, TaskStart
from tests.plant import MODELS, START, Plant, planted
from workers.delivery import Letter
from workers.ingest import TurnStream
from workers.jobs import TURNS

LAYER_OF = {
    "facts": "facts",
    "keywords": "keyword_index",
    "sessions": "recent_turns",
    "tasks": "task_state",
    "vectors": "vector_index",
}
SAID = "请记住：我喜欢北京烤鸭。"


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


@pytest.fixture
async def owned(plant: Plant) -> tuple[Scope, MemoryId]:
    """Give a person with one memory, said in one turn, on which a running task rests."""
    scope, backend = await plant.person(), plant.composition.backend
    memory = await plant.remember(scope, SAID, "好，记住了。")
    begun = {"command_id": "c1", "task_id": "t1", "type": "dinner", "name": "晚饭", "goal": "book a table"}
    await backend.start_task(scope, TaskStart.model_validate(begun))
    fact = {"do": "observe", "facts": [{"text": "duck house", "memories": [str(memory)]}]}
    change = TaskChange.model_validate({"command_id": "c2", "expected_version": 1, "change": fact})
    await backend.change_task(scope, "t1", change)
    await plant.follow("tasks")
    return scope, memory


def states(receipt: ReceiptView) -> dict[str, str]:
    return {layer.layer: layer.state for layer in receipt.layers}


def unproven(receipt: ReceiptView) -> set[str]:
    return {name for name, state in states(receipt).items() if state in {"present", "cannot_prove"}}


class Idle:
    """A layer that deletes nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Do nothing."""


class Restores:
    """A layer that puts something back while the others erase, as a restored backup would."""

    def __init__(self, name: str, restore: Callable[[], Awaitable[object]]) -> None:
        self.name = name
        self._restore = restore

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Put it back."""
        del tombstone, question
        await self._restore()


@pytest.mark.parametrize("model", MODELS)
async def test_a_read_model_that_ignores_tombstones_keeps_the_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId], model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that stay behind a follower at the end of the log are found; a rebuild lets the receipt through."""
    scope, memory = owned
    deaf = plant.composition.projections()[model]
    hear = deaf.apply

    async def apply(connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        await hear(connection, place, [each for each in events if each.type != Tombstoned.type])

    receipt = await plant.forget(scope, memory)
    with monkeypatch.context() as patch:
        patch.setattr(deaf, "apply", apply)
        patch.setitem(plant.followed, model, deaf)
        await plant.follow()
    shown = await plant.finish(scope, receipt)
    assert shown.decision == "DELETION_PENDING"
    assert states(shown)[LAYER_OF[model]] == "present"
    await plant.rebuild(model)
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


@pytest.mark.parametrize("model", MODELS)
async def test_a_read_model_frozen_before_the_tombstone_keeps_the_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId], model: str
) -> None:
    """A layer that has not reached the tombstone proves nothing, even where its rows are gone for another reason."""
    scope, memory = owned
    receipt = await plant.forget(scope, memory)
    await plant.follow(*(name for name in MODELS if name != model))
    async with plant.owner() as connection:
        await connection.execute("delete from keywords.entry where memory_id = $1", memory)
        await connection.execute("update sessions.message set forgotten = true where subject_id = $1", scope.subject_id)
        await connection.execute(
            "update facts.memory set status = 'forgotten', tag = null where memory_id = $1", memory
        )
    await plant.composition.vectors.flush("memory_v1")
    shown = await plant.finish(scope, receipt)
    assert shown.decision == "DELETION_PENDING"
    assert shown.statement is None
    await plant.follow(model)
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


@pytest.mark.parametrize("server", [MILVUS, VALKEY])
async def test_a_store_that_is_down_keeps_the_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId], server: str
) -> None:
    """What cannot be asked is not absent; when the store is back, the same erasure ends."""
    scope, memory = owned
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    await plant.kill(server)
    shown = await plant.finish(scope, receipt)
    assert shown.decision == "DELETION_PENDING"
    assert states(shown)[{MILVUS: "vector_index", VALKEY: "async_queue"}[server]] == "cannot_prove"
    plant.embedded.revive(server)
    async with asyncio.timeout(60):  # a client takes a moment to dial again
        while shown.decision == "DELETION_PENDING":
            await asyncio.sleep(0.2)
            shown = await plant.finish(scope, receipt)


async def test_reads_that_still_name_the_memory_keep_the_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId]
) -> None:
    """The record of what was put into contexts is a layer like any other."""
    scope, memory = owned
    context = await plant.composition.backend.context(
        scope, ContextRequest.model_validate({"query": "晚饭吃什么", "role": "chat"})
    )
    assert memory in {each.memory_id for each in context.memories}
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.finish(scope, receipt, registry=plant.registry(Idle("reads")))
    assert shown.decision == "DELETION_PENDING"
    assert unproven(shown) == {"reads"}
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


async def test_a_key_that_comes_back_keeps_the_receipt_pending(plant: Plant, owned: tuple[Scope, MemoryId]) -> None:
    """A vault restored from a backup meanwhile holds keys again: they are seen, and destroyed again."""
    scope, memory = owned
    async with plant.composition.log("prober").connection() as connection:
        used = await connection.fetch(  # the task stays, but for what rests on the memory
            "select distinct key_id from log.body join log.event using (event_id)"
            " where log.body.subject_id = $1 and type <> 'task_started'",
            scope.subject_id,
        )
    async with plant.vault() as connection:
        rows = await connection.fetch(  # keys that were leased ahead have sealed nothing yet and stay
            "select * from vault.data_key where key_id = any($1::uuid[])", [row["key_id"] for row in used]
        )
    assert rows

    async def restore() -> None:
        async with plant.vault() as connection:
            for row in rows:
                await connection.execute(
                    "insert into vault.data_key values ($1, $2, $3, $4, $5, $6) on conflict do nothing", *row.values()
                )

    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.finish(scope, receipt, registry=plant.registry(Restores("reads", restore)))
    assert shown.decision == "DELETION_PENDING"
    assert unproven(shown) == {"vault_keys"}
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    assert not await plant.composition.vault("opener").present(KeyId(row["key_id"]) for row in rows)


async def test_a_body_that_comes_back_keeps_the_receipt_pending(plant: Plant, owned: tuple[Scope, MemoryId]) -> None:
    """A log restored from a backup meanwhile holds ciphertexts again: they are seen, and go again."""
    scope, memory = owned
    async with plant.owner() as connection:
        rows = await connection.fetch("select * from log.body where subject_id = $1", scope.subject_id)

    async def restore() -> None:
        async with plant.owner() as connection:
            for row in rows:
                await connection.execute(
                    "insert into log.body values ($1, $2, $3, $4, $5, $6) on conflict do nothing", *row.values()
                )

    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.finish(scope, receipt, registry=plant.registry(Restores("reads", restore)))
    assert shown.decision == "DELETION_PENDING"
    assert unproven(shown) == {"log_bodies"}
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


async def test_the_text_under_another_memory_id_keeps_the_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId]
) -> None:
    """A living memory that says the same is a hit, whatever its id, until it is forgotten too."""
    scope, memory = owned
    twin = await copy(plant, scope, memory)
    await plant.follow()
    assert twin in await plant.recalled(scope, "北京烤鸭")
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.finish(scope, receipt)
    assert shown.decision == "DELETION_PENDING"
    assert unproven(shown) == {"read_path", "keyword_index"}
    other = await plant.forget(scope, twin)
    await plant.follow()
    assert (await plant.until(scope, other)).decision == "deletion_propagated"
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


async def test_the_words_in_another_message_keep_the_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said of it elsewhere, by anybody, is found by its words and destroyed; other and newer messages stay."""
    scope, memory = owned
    twice = ("翻译成英文：我喜欢北京烤鸭", f"The user said: {json.dumps(SAID)}")
    await plant.say(scope, *twice)
    await plant.say(scope, "What a day!", "好，记住了。")
    monkeypatch.setattr("services.forgetting.selector._ECHOES_S", 0)
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    await plant.say(scope, "翻译成英文：我喜欢北京烤鸭", at=datetime.now(UTC))
    shown = await plant.finish(scope, receipt, registry=plant.registry(Idle("recent_turns")))
    assert shown.decision == "DELETION_PENDING"
    assert unproven(shown) == {"recent_turns"}
    (found,) = [each for each in shown.layers if each.layer == "recent_turns"]
    assert (found.checks["exact_text"], found.checks["neighbours"], found.checks["messages"]) == (2, 1, 0)
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    await plant.follow()
    async with plant.owner() as connection:
        stand = await connection.fetchval(
            "select count(*) from sessions.message where subject_id = $1 and not forgotten", scope.subject_id
        )
    assert stand == 3


async def test_the_words_in_a_turn_nobody_considered_keep_the_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId]
) -> None:
    """What says it and may still become something else is waited for; then it is held, for the person to decide."""
    scope, memory = owned
    late = await plant.placed(scope, plant.turn("请记住：我喜欢北京烤鸭。请记住：我的工位在三楼靠窗。"))
    await plant.follow()
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.finish(scope, receipt)
    assert shown.decision == "DELETION_PENDING"
    assert unproven(shown) == {"recent_turns"}
    await plant.rememberer.consider(late)
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


@pytest.mark.parametrize("escaped", [True, False])
async def test_the_text_in_a_dead_letter_keeps_the_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId], escaped: bool
) -> None:
    """A letter that quotes it is found and destroyed, its key first, written out or in JSON escapes; others stay."""
    scope, memory = owned
    for number, text in enumerate((f"{SAID} 对吧", "我住在苏州", "好，记住了。")):
        body = json.dumps({"turn_id": number, "messages": [{"content": text}]}, ensure_ascii=escaped)
        fields = {"token": token(plant, scope), "turn": body}
        await stream(plant).park(Letter(TURNS, f"{uuid4()}", fields, 5, "ValueError"))
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.finish(scope, receipt, registry=plant.registry(Idle("dead_letters")))
    assert shown.decision == "DELETION_PENDING"
    assert unproven(shown) == {"dead_letters"}
    assert len(await plant.composition.letters.of(scope)) == 3
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    kept = [letter.text or "" for letter in await plant.composition.letters.of(scope)]
    assert sorted("苏州" in text for text in kept) == [False, True]


@pytest.mark.parametrize("escaped", [True, False])
async def test_the_text_in_a_waiting_turn_keeps_the_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId], escaped: bool
) -> None:
    """A turn that still waits in Redis may say it; once it was taken up, as forgotten, the receipt goes through."""
    scope, memory = owned
    (finalized,) = await plant.turns(scope)
    keyring = await plant.composition.vault("opener").keyring(scope)
    assert isinstance(finalized.event, TurnFinalized)
    (name,) = (await keyring.outside([finalized.event.turn_id])).values()
    again = json.loads(plant.turn(SAID, "好，记住了。", turn_id=name).model_dump_json(by_alias=True))
    fields = {"token": token(plant, scope), "turn": json.dumps(again, ensure_ascii=escaped)}
    client = redis.from_url(plant.composition.endpoints.redis_url)
    try:
        entry = await client.xadd(TURNS, fields)  # type: ignore[arg-type]
        receipt = await plant.forget(scope, memory)
        await plant.follow()
        shown = await plant.finish(scope, receipt)
        assert shown.decision == "DELETION_PENDING"
        assert unproven(shown) == {"async_queue"}
        await stream(plant).take(fields, cast("bytes", entry).decode())
        await client.xdel(TURNS, entry)
    finally:
        await client.aclose()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    assert await plant.composition.letters.of(scope) == []


async def test_what_other_persons_hand_over_does_not_keep_a_receipt_pending(
    plant: Plant, owned: tuple[Scope, MemoryId]
) -> None:
    """That somebody else says the same words is no trace of this memory; nor is an answer that says nothing."""
    scope, memory = owned
    client = redis.from_url(plant.composition.endpoints.redis_url)
    try:
        turns = ((await plant.person(), SAID), (scope, "明天见"))
        for owner, text in turns:
            turn = plant.turn(text, "好，记住了。").model_dump_json(by_alias=True)
            await client.xadd(TURNS, {"token": token(plant, owner), "turn": turn})
        receipt = await plant.forget(scope, memory)
        await plant.follow()
        shown = await plant.until(scope, receipt)
        assert shown.decision == "deletion_propagated", shown.layers
    finally:
        await client.delete(TURNS)
        await client.aclose()


def token(plant: Plant, scope: Scope) -> str:
    return plant.composition.tokens.issue(scope, TokenRole.AGENT, timedelta(minutes=5))[0]


def stream(plant: Plant) -> TurnStream:
    parts = plant.composition
    return TurnStream(parts.ingest, parts.tokens.verifier, parts.letters, parts.limits)


async def copy(plant: Plant, scope: Scope, memory: MemoryId) -> MemoryId:
    """Accept the content of a memory once more under another id, past the gates."""
    keyring = await plant.composition.vault("keeper").keyring(scope)
    async with plant.composition.log("reader").transaction(scope) as connection:
        (fact,) = (await read_memories(connection, scope, {memory})).values()
        event = (await read_events(connection, [fact.event_id]))[fact.event_id]
        opened = await open_bodies(connection, keyring, ((event, part.name) for part in event.parts))
    body, index = (opened[fact.event_id, name] for name in (MEMORY_PART, INDEX))
    assert isinstance(body, bytes)
    assert isinstance(index, bytes)
    twin, (key,) = MemoryId(uuid4()), await keyring.lease(1)
    (said,) = [each.event for each in await plant.stream(scope) if isinstance(each.event, CandidateProposed)]
    (kept,) = [each.event for each in await plant.stream(scope) if isinstance(each.event, Accepted)]
    await plant.composition.events.append(
        Command(
            CommandId(uuid4()),
            scope,
            memory_stream(scope.subject_id),
            None,
            "test",
            (
                NewEvent(said.model_copy(update={"candidate_id": twin}), START),
                NewEvent(
                    kept.model_copy(update={"candidate_id": twin, "memory_id": twin}),
                    START,
                    (
                        Part(MEMORY_PART, MemoryBody.model_validate_json(body), key),
                        Part(INDEX, IndexBody.model_validate_json(index), key),
                    ),
                ),
            ),
        )
    )
    return twin


async def test_the_terms_under_a_stray_id_keep_the_receipt_pending(plant: Plant, owned: tuple[Scope, MemoryId]) -> None:
    """A row of the keyword index that no memory stands behind is found by the stored terms; other rows are not."""
    scope, memory = owned
    await plant.remember(scope, "请记住：我喜欢北京。")
    stray = uuid4()
    async with plant.owner() as connection:
        await connection.execute(
            "insert into keywords.entry select tenant_id, subject_id, $2, version, terms, length from keywords.entry"
            " where memory_id = $1",
            memory,
            stray,
        )
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.finish(scope, receipt)
    assert shown.decision == "DELETION_PENDING"
    assert unproven(shown) == {"keyword_index"}
    assert shown.negative_queries["stored_keywords"] == 1
    async with plant.owner() as connection:
        await connection.execute("delete from keywords.entry where memory_id = $1", stray)
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


async def test_an_erasure_is_carried_out_by_one_at_a_time(plant: Plant, owned: tuple[Scope, MemoryId]) -> None:
    """Who asks for one that is under way waits, and finds it done; meanwhile it is none to resume."""
    scope, memory = owned
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    position = (await plant.tombstone(scope, receipt)).position
    assert position is not None
    due: list[tuple[bool, bool]] = []

    async def look() -> None:
        async with plant.owner() as connection:
            await connection.execute(
                "update ops.erasure set tried_at = clock_timestamp() - interval '1 hour' where tombstone = $1", receipt
            )
        due.append((position in await elsewhere.pending(), position in await finisher.pending()))

    elsewhere, finisher = plant.finisher(), plant.finisher(plant.registry(Restores("reads", look)))
    stages = await asyncio.gather(*(finisher.finish(position) for _ in range(3)))
    decisions = [stage.decision for stage in stages if stage is not None]
    tried = decisions.count("DELETION_PENDING") + ("deletion_propagated" in decisions)
    assert due == [(True, False)] * tried
