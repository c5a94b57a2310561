"""Faults that users of other memory systems reported, replayed here; each name says what it guards."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID, uuid4

import pytest
import redis.asyncio as redis
from asyncpg import PostgresError

from events.bodies import open_bodies
from events.envelope import StoredEvent
from events.errors import ConcurrencyError, ScopeError, UnavailableError
from events.model import (
    Accepted,
    MemoryId,
    Position,
    Reinforced,
    Scope,
    SessionId,
    SubjectId,
    Superseded,
    TenantId,
    TurnConsidered,
)
from ops.embedded import POSTGRES_LOG, VALKEY
from ops.run import Running
from projections.keywords import matching
from projections.tokens import terms
from projections.vector_probe import VectorProbe
from projections.vector_scope import scope_filter
from services.access.rights import RIGHTS, Right, TokenRole, may
from services.recall.bm25 import keyword_scores
from services.residue.needle import Needle
from services.residue.search import search_files
from services.summaries.draft import Draft, Drafter, Material
from services.summaries.rules import Rules
from services.summaries.summaries import Summaries
from services.wire.memories import MemoryStatus
from services.wire.recall import ContextRequest, SearchRequest
from tests.faults.search import search_tables
from tests.plant import MODELS, Plant, planted
from workers.delivery import Delivery
from workers.jobs import REMEMBER
from workers.remember import RememberJobs

Answer = TypeVar("Answer")

HOSTILE = (
    'a" or id != "',
    "a' or '1'='1",
    "back\\slash\\",
    "100%_of_them",
    "two\nlines",
    "张三、李四",
    "",
    "a",
    "A",
)


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def nowhere(plant: Plant, scope: Scope, memory: MemoryId, *questions: str) -> None:
    """Assert that a memory is not to be had: by id, by list, by words, and not in the index."""
    detail = await plant.composition.backend.memory(scope, memory)
    assert detail is None or (detail.status, detail.content) == (MemoryStatus.FORGOTTEN, None)
    page = await plant.composition.backend.memories(scope, None, 100, None)
    assert memory not in {each.memory_id for each in page.memories}
    for question in questions:
        request = {"query": question, "role": "chat"}
        context = await plant.composition.backend.context(scope, ContextRequest.model_validate(request))
        found = await plant.composition.backend.search(scope, SearchRequest.model_validate(request))
        assert memory not in {each.memory_id for each in context.memories}
        assert memory not in {each.memory_id for each in found.memories}
        assert memory not in await plant.recalled(scope, question)
    async with plant.owner() as connection:
        place = await connection.fetchval("select place from read_model.checkpoint where name = 'vectors'")
        assert await connection.fetchval("select count(*) from keywords.entry where memory_id = $1", memory) == 0
    probe = VectorProbe(plant.composition.endpoints.milvus_uri, place)
    assert await probe.by_ids([memory]) == []
    await probe.close()


async def forgotten(plant: Plant, scope: Scope, memory: MemoryId) -> None:
    """Forget a memory and see its receipt through."""
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


async def summed_up(plant: Plant, scope: Scope, drafter: Drafter) -> tuple[str, ...]:
    """Write a summary of the person's session; return its lines as a context shows them."""
    parts = plant.composition
    keyring = await parts.vault("keeper").keyring(scope)
    session = SessionId((await keyring.intern([("session", "s1")]))["session", "s1"])
    writer = Summaries(parts.vault("keeper"), parts.log("appender"), parts.log("reader"), drafter, days=30)
    assert await writer.refresh(scope, session, every=1) == "written"
    await plant.follow("sessions")
    asked = ContextRequest.model_validate({"query": "周报", "role": "chat", "session_id": "s1", "token_budget": 2000})
    answer = await parts.backend.contexts.compile(scope, asked)
    return next((each.lines for each in answer.sections if each.name == "summary"), ())


def kinds(stream: list[StoredEvent]) -> list[type]:
    return [type(each.event) for each in stream if isinstance(each.event, Accepted | Reinforced | Superseded)]


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("请记住：我的工位在三楼靠窗。", "我坐在哪里"),
        ("Remember: my desk is by the window on floor 3.", "where do I sit?"),
    ],
)
async def test_a_forgotten_memory_no_longer_answers_by_vector(plant: Plant, said: str, asked: str) -> None:
    """1: a delete that reports success leaves no row in any index, and no way of asking finds it."""
    scope = await plant.person()
    memory = await plant.remember(scope, said, "好的。")
    assert memory in await plant.recalled(scope, asked)
    await forgotten(plant, scope, memory)
    await nowhere(plant, scope, memory, said, asked)


async def test_a_forgotten_memory_does_not_return_with_a_rebuild(plant: Plant) -> None:
    """3: read models rebuilt, turns considered and the session summed up again, it is absent; its sibling is not."""
    scope = await plant.person()
    await plant.say(scope, "Never send the report before Friday.", "好的。")
    memory = await plant.remember(scope, "请记住：我的工位在三楼靠窗。", "好的。")
    other = await plant.remember(scope, "我住在苏州", "好的。")
    await forgotten(plant, scope, memory)
    for name in MODELS:
        await plant.rebuild(name)
    for turn in await plant.turns(scope):
        assert turn.position is not None
        assert await plant.rememberer.consider(turn.position) is None
    await plant.follow()
    lines = await summed_up(plant, scope, Rules())
    assert [any(word in line for line in lines) for word in ("三楼", "Friday")] == [False, True]
    await nowhere(plant, scope, memory, "我坐在哪里")
    assert other in await plant.recalled(scope, "我住在哪里")


@dataclass
class Slow:
    """A drafter that is so slow that something is forgotten while it writes for the first time."""

    meanwhile: Callable[[], Awaitable[object]]
    drafts: list[str] = field(default_factory=list)

    async def draft(self, tenant: TenantId, material: Material) -> Draft:
        """Write what the rules find in what there was."""
        draft = await Rules().draft(tenant, material)
        self.drafts.append(" ".join(line.text for line in draft.lines))
        if len(self.drafts) == 1:
            await self.meanwhile()
        return draft


async def test_a_summary_written_while_its_source_was_being_forgotten_is_without_it(plant: Plant) -> None:
    """14: drafted from what was there, forgotten, then finished: it is drafted anew, and the value is not in it."""
    scope = await plant.person()
    memory = await plant.remember(scope, "请记住：我的工位在三楼靠窗", "好的。")
    await plant.say(scope, "Never send the report before Friday.", "好的。")
    slow = Slow(lambda: plant.forget(scope, memory))
    lines = await summed_up(plant, scope, slow)
    assert ["三楼" in draft for draft in slow.drafts] == [True, False]
    assert [any(word in line for line in lines) for word in ("三楼", "Friday")] == [False, True]
    async with plant.owner() as connection:
        written = await connection.fetchval(
            "select count(*) from log.event where type = 'summary_written' and subject_id = $1", scope.subject_id
        )
    assert written == 1


async def test_no_table_stream_or_file_keeps_the_text(plant: Plant) -> None:
    """7: after a forget the text is in no table, no stream, no file of any store and no export."""
    tag = f"zq{uuid4().hex[:8]}"
    needles = [Needle(f"梧桐{tag}"), Needle(tag)]
    scope = await plant.person()
    memory = await plant.remember(scope, f"请记住：我喜欢梧桐{tag}茶。", f"梧桐{tag}")
    await plant.remember(scope, "I live in Suzhou.", "OK.")
    await forgotten(plant, scope, memory)
    exported = b"".join([line async for line in plant.composition.backend.export(scope, "download")])
    assert (b"Suzhou" in exported, tag.encode() in exported) == (True, False)
    for look in (plant.owner, plant.vault):
        async with look() as connection:
            await connection.execute("checkpoint")
            assert await search_tables(connection, needles) == set()
    assert search_files(plant.composition.settings.data, needles).found == set()


async def test_no_grants_mean_nothing_and_no_scope_is_an_error(plant: Plant) -> None:
    """8: a caller with no grants gets nothing, and no store ever sees an empty filter."""
    scope = await plant.person()
    await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "好的。")
    assert [role for role in TokenRole if may(role, Right.READ_MEMORIES)] == [
        *(TokenRole.AGENT, TokenRole.PERSON, TokenRole.WORKFLOW)
    ]
    assert RIGHTS.keys() == set(TokenRole)
    request = SearchRequest.model_validate({"query": "北京烤鸭", "role": "search"})
    assert (await plant.composition.backend.search(scope, request)).memories == ()
    async with plant.composition.log("reader").connection() as connection:
        for table in ("log.event", "log.body", "facts.memory", "keywords.entry", "sessions.turn", "ops.read"):
            with pytest.raises(PostgresError):
                await connection.fetch(f"select * from {table}")  # noqa: S608 - our own table names
    with pytest.raises(ScopeError):
        scope_filter(scope.tenant_id, scope.subject_id, [])
    with pytest.raises(ScopeError):
        scope_filter(TenantId(UUID(int=0)), SubjectId(UUID(int=0)))


async def test_a_hostile_name_matches_nothing_but_itself(plant: Plant) -> None:
    """9: persons, turns and sessions may be called anything; each sees its own memories and no other's."""
    keeper = plant.composition.vault("keeper")
    owners = {}
    for number, name in enumerate(HOSTILE):
        subject = SubjectId(UUID(str(await keeper.subject(plant.tenant, name))))
        scope = Scope(tenant_id=plant.tenant, subject_id=subject)
        turn = plant.turn(f"请记住：我喜欢{number}号茶。", "好的。", turn_id=f"{name or 'none'}#".replace("\n", " "))
        await plant.rememberer.consider(await plant.placed(scope, turn))
        owners[scope.subject_id] = f"{number}号茶"
    assert len(owners) == len(HOSTILE)
    await plant.follow()
    for subject, tea in owners.items():
        recalled = await plant.recalled(Scope(tenant_id=plant.tenant, subject_id=subject), "茶")
        assert [tea in content for content in recalled.values()] == [True]


async def test_forgetting_everything_of_one_person_touches_nobody_else(plant: Plant) -> None:
    """11: all of A is forgotten; B's counts in every layer are what they were."""
    one, other = await plant.person(), await plant.person()
    mine = [
        await plant.remember(one, text, "好的。")
        for text in ("我住在苏州", "请记住：我喜欢北京烤鸭。", "My name is Lee.")
    ]
    for text in ("我住在苏州", "请记住：我喜欢北京烤鸭。"):
        await plant.remember(other, text, "好的。")
    before = await layers(plant, other)
    for memory in mine:
        await forgotten(plant, one, memory)
    assert await layers(plant, other) == before
    assert (await layers(plant, one))["vectors"] == 0
    assert await plant.recalled(one, "我是谁，住在哪里") == {}


async def layers(plant: Plant, scope: Scope) -> dict[str, int]:
    """Count one person's rows in every layer."""
    counts = {}
    for look, tables in (
        (plant.owner, ("log.event", "log.body", "facts.memory", "keywords.entry", "sessions.turn", "sessions.message")),
        (plant.vault, ("vault.data_key", "vault.alias", "vault.person")),
    ):
        async with look() as connection:
            for table in tables:
                query = f"select count(*) from {table} where subject_id = $1"  # noqa: S608 - our own table names
                counts[table] = await connection.fetchval(query, scope.subject_id)
    async with plant.owner() as connection:
        place = await connection.fetchval("select place from read_model.checkpoint where name = 'vectors'")
    probe = VectorProbe(plant.composition.endpoints.milvus_uri, place)
    counts["vectors"] = await probe.count(scope.tenant_id, scope.subject_id)
    await probe.close()
    return counts


@pytest.mark.parametrize("said", ["请记住：我喜欢北京烤鸭。", "I live in Suzhou."])
async def test_identical_writes_at_once_become_one_memory(plant: Plant, said: str) -> None:
    """12: 20 identical candidates at once are one memory and 19 reinforcements."""
    scope = await plant.person()
    positions = await asyncio.gather(*(plant.placed(scope, plant.turn(said, "好的。")) for _ in range(20)))
    await asyncio.gather(*(until_considered(plant, position) for position in positions))
    await plant.follow()
    found = kinds(await plant.stream(scope))
    assert (found.count(Accepted), found.count(Reinforced), len(found)) == (1, 19, 20)
    page = await plant.composition.backend.memories(scope, None, 100, None)
    assert len(page.memories) == 1


async def until_considered(plant: Plant, position: Position) -> None:
    """Deliver a job again while other writers of the same person win, as the queue does."""
    async with asyncio.timeout(60):
        while True:
            try:
                await plant.rememberer.consider(position)
            except ConcurrencyError:
                continue
            return


async def test_turns_at_once_are_all_recorded_and_considered(plant: Plant) -> None:
    """13: 8 turns of one session in parallel are 8 in the log, and each is considered once."""
    scope = await plant.person()
    turns = [plant.turn(f"请记住：我喜欢{number}号茶。", "好的。") for number in range(8)]
    answers = await asyncio.gather(*(plant.store(scope, turn) for turn in turns))
    assert [each.state for each in answers] == ["stored"] * 8
    positions = await asyncio.gather(*(plant.placed(scope, turn) for turn in turns))
    await asyncio.gather(*(until_considered(plant, position) for position in positions))
    await plant.follow()
    considered = [each.event.turn_id for each in await plant.stream(scope) if isinstance(each.event, TurnConsidered)]
    assert len(await plant.turns(scope)) == len(considered) == len(set(considered)) == 8
    assert len((await plant.composition.backend.memories(scope, None, 100, None)).memories) == 8


@pytest.mark.parametrize(
    ("first", "then"),
    [("I love Chinese food.", "I hate Chinese food now."), ("请记住：我喜欢吃辣。", "我现在不喜欢吃辣了。")],
)
async def test_a_contradiction_leaves_the_new_one_current(plant: Plant, first: str, then: str) -> None:
    """15: exactly one is current, the new one; the old is history, and version 2 follows version 1."""
    scope = await plant.person()
    memory = await plant.remember(scope, first, "好的。")
    assert await plant.remember(scope, then, "好的。") == memory
    detail = await plant.composition.backend.memory(scope, memory)
    assert detail is not None
    assert [(each.version, each.status, each.positive) for each in detail.versions] == [
        (1, MemoryStatus.SUPERSEDED, True),
        (2, MemoryStatus.ACTIVE, False),
    ]
    assert len(await plant.recalled(scope, "food 吃")) == 1


async def test_a_not_inside_a_sentence_makes_no_conflict(plant: Plant) -> None:
    """17a: 'use the async runtime' and 'do not forget to configure the async runtime' both stand."""
    scope = await plant.person()
    one = await plant.remember(scope, "Please use the async runtime from now on.", "OK.")
    other = await plant.remember(scope, "Remember: please do not forget to configure the async runtime.", "OK.")
    assert one != other
    page = await plant.composition.backend.memories(scope, None, 100, None)
    assert {(each.memory_id, each.status) for each in page.memories} == {
        (one, MemoryStatus.ACTIVE),
        (other, MemoryStatus.ACTIVE),
    }


@pytest.mark.parametrize(
    ("said", "asked"),
    [("请记住：Alice喜欢北京烤鸭employees", "烤鸭"), ("请记住：我的工牌是ＣＮ－Ａ１０２９３。", "CN-A10293")],
)
async def test_keywords_are_found_in_chinese_too(plant: Plant, said: str, asked: str) -> None:
    """18: a search by words alone finds Chinese inside mixed text, and an identifier in full-width letters."""
    scope = await plant.person()
    memory = await plant.remember(scope, said, "好的。")
    await plant.remember(scope, "My name is Lee.", "OK.")
    wanted = terms(asked, (await plant.composition.vault("opener").keyring(scope)).secret("terms"))
    async with plant.composition.log("reader").transaction(scope) as connection:
        entries = (await matching(connection, scope, wanted)).entries
    scores = keyword_scores(wanted, entries, count=2, mean_length=5.0)
    assert {key[0] for key, score in scores.items() if score > 0} == {memory}


@pytest.mark.parametrize(
    "said",
    [
        "数据库密码：hunter2hunter2，请勿外传",
        "请记住我的数据库密码：hunter2hunter2，请勿外传",
        "password:hunter2hunter2请记住",
    ],
)
async def test_a_secret_glued_to_chinese_is_stored_nowhere(plant: Plant, said: str) -> None:
    """19: the secret is in no body, no memory, no table and no file."""
    scope = await plant.person()
    await plant.say(scope, said, said)
    turn = (await plant.turns(scope))[-1]
    keyring = await plant.composition.vault("opener").keyring(scope)
    async with plant.composition.log("reader").transaction(scope) as connection:
        opened = await open_bodies(connection, keyring, ((turn, part.name) for part in turn.parts))
    assert [isinstance(body, bytes) and b"hunter2" not in body for body in opened.values()] == [True, True]
    page = await plant.composition.backend.memories(scope, None, 100, None)
    assert not any("hunter2" in (each.content or "") for each in page.memories)
    assert search_files(plant.composition.settings.data, [Needle("hunter2hunter2")]).found == set()


async def test_a_message_that_kills_its_handler_is_a_dead_letter(plant: Plant) -> None:
    """20: after its tries it is a dead letter with its reason; the others flow; nothing stays pending."""
    scope = await plant.person()
    position = await plant.placed(scope, plant.turn("我住在苏州", "好的。"))
    url = plant.composition.endpoints.redis_url
    jobs = RememberJobs(plant.rememberer, plant.composition.letters, plant.composition.summaries)
    client, delivery = redis.from_url(url), Delivery(url, (jobs.route(2),), 3, 200)
    poison = (await client.xadd(REMEMBER, {"position": "no number"}), await client.xadd(REMEMBER, {"nothing": "here"}))
    await client.xadd(REMEMBER, {"position": str(position)})
    await delivery.start()
    try:
        async with asyncio.timeout(90):
            while await client.xlen(REMEMBER) or (await client.xpending(REMEMBER, REMEMBER))["pending"]:  # noqa: ASYNC110 - the server rings no bell
                await asyncio.sleep(0.05)
    finally:
        await delivery.stop()
        await client.aclose()
    async with plant.owner() as connection:
        rows = await connection.fetch("select entry_id, reason, deliveries from ops.dead_letter order by entry_id")
    assert [tuple(row.values()) for row in rows] == [
        (poison[0].decode(), "ValueError", 3),  # type: ignore[union-attr]
        (poison[1].decode(), "KeyError", 3),  # type: ignore[union-attr]
    ]
    await plant.follow()
    assert len(await plant.recalled(scope, "我住在哪里")) == 1


async def test_a_quoted_context_yields_no_candidate(plant: Plant) -> None:
    """22: our own context, pasted into a message of any role, is not remembered again, nor does it reinforce."""
    scope = await plant.person()
    await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "好的。")
    await plant.remember(scope, "I live in Suzhou.", "OK.")
    request = ContextRequest.model_validate({"query": "晚饭吃什么", "role": "chat"})
    context = await plant.composition.backend.context(scope, request)
    assert "烤鸭" in context.text
    for said in (context.text, f"你看：\n{context.text}\n这是什么？"):
        assert (await plant.say(scope, said, context.text)).verdicts == ()


async def test_a_write_fails_clearly_while_the_log_is_down(plant: Plant) -> None:
    """24: Postgres stopped: the hand-over fails and says so, and the same turn is stored once when it is back."""
    scope, turn = await plant.person(), plant.turn("我住在苏州", "好的。")
    await plant.kill(POSTGRES_LOG)
    with pytest.raises(UnavailableError):
        await plant.store(scope, turn)
    plant.embedded.revive(POSTGRES_LOG)
    answer = await patiently(lambda: plant.store(scope, turn))
    assert answer.state == "stored"
    await patiently(plant.sealed)
    assert len(await patiently(lambda: plant.turns(scope))) == 1


async def patiently(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Ask again while the answer is that a store is down, as a client does."""
    async with asyncio.timeout(90):
        while True:
            try:
                return await ask()
            except UnavailableError:
                await asyncio.sleep(0.05)


async def test_a_turn_stands_while_redis_is_down_and_is_considered_later(plant: Plant) -> None:
    """24: Redis stopped: the hand-over is stored all the same, and considered when Redis is back."""
    scope = await plant.person()
    async with Running(plant.another(), ("project", "remember"), door=False):
        await plant.kill(VALKEY)
        answer = await plant.store(scope, turn := plant.turn("我住在苏州", "好的。"))
        assert answer.state == "stored"
        assert await outcomes(plant, scope, turn.turn_id) == ["pending"]
        plant.embedded.revive(VALKEY)
        async with asyncio.timeout(60):
            found = ["pending"]
            while found == ["pending"]:
                await asyncio.sleep(0.1)
                found = await outcomes(plant, scope, turn.turn_id)
    assert found == ["considered", "accepted"]


async def outcomes(plant: Plant, scope: Scope, turn: str) -> list[str]:
    """Say what became of a turn: its state, then its verdicts."""
    found = await plant.composition.backend.catalogue.outcome(scope, turn)
    assert found is not None
    return [found.state, *(each.outcome for each in found.verdicts)]
