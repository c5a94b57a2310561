"""What was kept as long as it may be: nobody reads it from the event on, its keys go, and the audit agrees."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from events.bodies import Shredded, open_bodies
from events.envelope import StoredEvent
from events.model import Expired, KeyId, Scope
from events.postgres import Connection
from services.access.rights import TokenRole
from services.audit.evidence import Trust
from services.audit.reading import Copies, verify
from services.upkeep.round import Round
from services.wire.memories import MemoryStatus
from services.wire.recall import ContextRequest
from services.wire.turns import Verdict
from tests.plant import ACTOR, MODELS, Plant, planted

HELD = "我对花生过敏，血糖也高。"
LATER = {"a week": timedelta(days=7, minutes=1), "a month": timedelta(days=30, minutes=1)}


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


@pytest.fixture
async def expiry(plant: Plant) -> Round:
    """Give the job of the worker."""
    return plant.composition.expiry


async def held(plant: Plant, scope: Scope) -> Verdict:
    """Say something that is held for consent."""
    verdicts = (await plant.say(scope, HELD, "好的。")).verdicts
    return next(each for each in verdicts if each.outcome == "held")


async def after(plant: Plant, expiry: Round, wait: str) -> None:
    """Let time pass, let the worker do what is due, and let every follower see it."""
    await expiry.step(datetime.now(UTC) + LATER[wait])
    await plant.follow()
    await shred(plant)


async def expired(plant: Plant, scope: Scope) -> list[Expired]:
    return [each.event for each in await plant.stream(scope) if isinstance(each.event, Expired)]


async def shred(plant: Plant) -> None:
    await plant.sealed()
    await plant.composition.shredder.catch_up()


async def keys_of(plant: Plant, *events: StoredEvent) -> set[KeyId]:
    return await plant.composition.vault("opener").present(part.key_id for event in events for part in event.parts)


async def test_a_held_candidate_expires_after_its_week(plant: Plant, expiry: Round) -> None:
    """Until then it is listed; afterwards it is no longer held, nor readable, nor there to be forgotten."""
    scope = await plant.person()
    candidate = (await held(plant, scope)).memory_id
    await after(plant, expiry, "a week")
    backend = plant.composition.backend
    assert candidate not in {each.memory_id for each in (await backend.memories(scope, None, 100, None)).memories}
    detail = await backend.memory(scope, candidate)
    assert detail is not None
    assert (detail.status, detail.content, detail.version) == (MemoryStatus.EXPIRED, None, None)
    assert await backend.forgetter.forget(scope, candidate, ACTOR) is None
    (event,) = await expired(plant, scope)
    assert candidate in event.memories
    assert event.messages == ()
    assert not await plant.composition.vault("opener").present(event.keys)


async def test_nothing_expires_before_its_time(plant: Plant, expiry: Round) -> None:
    """A candidate that is held today, and a message that was said today, stay."""
    scope = await plant.person()
    candidate = (await held(plant, scope)).memory_id
    await expiry.step(datetime.now(UTC) + timedelta(days=6))
    await plant.follow()
    detail = await plant.composition.backend.memory(scope, candidate, reader=TokenRole.PERSON)
    assert detail is not None
    assert (detail.status, detail.content is not None) == (MemoryStatus.HELD, True)


async def test_messages_expire_unless_a_living_memory_cites_them(plant: Plant, expiry: Round) -> None:
    """After a month small talk and every answer are stones; what a memory rests on stays until it is superseded."""
    scope = await plant.person()
    memory = await plant.remember(scope, "我住在苏州", "好的。")
    await plant.say(scope, "早上好！", "早！")
    await after(plant, expiry, "a month")
    said, greeting = await plant.turns(scope)
    assert await keys_of(plant, said, greeting) == {said.parts[0].key_id}
    keyring = await plant.composition.vault("opener").keyring(scope)
    async with plant.composition.log("reader").transaction(scope) as connection:
        opened = await open_bodies(connection, keyring, ((greeting, part.name) for part in greeting.parts))
    assert {type(body) for body in opened.values()} == {Shredded}
    request = ContextRequest.model_validate({"query": "我住在哪里", "role": "chat", "session_id": "s1"})
    text = (await plant.composition.backend.context(scope, request)).text
    assert "苏州" in text
    assert "早" not in text
    await plant.say(scope, "我搬家了，现在住在杭州", "恭喜！")
    await after(plant, expiry, "a month")
    detail = await plant.composition.backend.memory(scope, memory)
    assert detail is not None
    assert [[source.state for source in each.sources] for each in detail.versions] == [["expired"], ["readable"]]


async def test_a_turn_that_was_not_considered_keeps_its_messages(plant: Plant, expiry: Round) -> None:
    """Whatever its age, it may still become a memory; once it was considered its answer goes."""
    scope = await plant.person()
    position = await plant.placed(scope, plant.turn("我住在苏州", "好的。"))
    await plant.follow()
    await after(plant, expiry, "a month")
    (turn,) = await plant.turns(scope)
    assert len(await keys_of(plant, turn)) == 2
    await plant.rememberer.consider(position)
    await plant.follow()
    await after(plant, expiry, "a month")
    assert await keys_of(plant, turn) == {turn.parts[0].key_id}


async def test_facts_that_lag_behind_expire_nothing(plant: Plant, expiry: Round) -> None:
    """A memory that was accepted a moment ago keeps the message it cites, though no read model knows it yet."""
    scope = await plant.person()
    await plant.say(scope, "早上好！", "早！")
    position = await plant.placed(scope, plant.turn("我住在苏州", "好的。"))
    await plant.rememberer.consider(position)
    await plant.follow("sessions")
    await expiry.step(datetime.now(UTC) + LATER["a month"])
    assert await expired(plant, scope) == []
    await plant.follow()
    await after(plant, expiry, "a month")
    assert [part.key_id for part in (await plant.turns(scope))[1].parts[:1]] == list(
        await keys_of(plant, *await plant.turns(scope))
    )


async def test_expiring_and_shredding_again_changes_nothing(plant: Plant, expiry: Round) -> None:
    """A step repeated before the read models followed appends nothing; a shredder that died begins its batch again."""
    scope = await plant.person()
    await held(plant, scope)
    later = datetime.now(UTC) + LATER["a month"]
    await expiry.step(later)
    assert await expiry.step(later) == 0
    await plant.sealed()
    async with plant.owner() as connection:
        before = await connection.fetchval("select position from read_model.checkpoint where name = 'shred'")
    await shred(plant)
    async with plant.owner() as connection:
        await connection.execute("update read_model.checkpoint set position = $1 where name = 'shred'", before)
    await shred(plant)
    await plant.follow()
    assert await expiry.step(later) == 1  # nothing living cites the message any more
    await plant.follow()
    assert await expiry.step(later) == 0
    first, second = await expired(plant, scope)
    assert (len(first.memories), len(second.memories)) == (1, 0)
    assert not {*first.messages, *first.keys} & {*second.messages, *second.keys}


async def test_the_audit_takes_an_expired_body_for_a_stone(plant: Plant, expiry: Round) -> None:
    """A body that went with its event is no fault; every read model rebuilt from the log says the same as before."""
    scope = await plant.person()
    candidate = (await held(plant, scope)).memory_id
    await plant.remember(scope, "我住在苏州", "好的。")
    await after(plant, expiry, "a month")
    async with plant.owner() as connection:
        found = await verify(connection, Copies(), Trust())
        tables = ("facts.memory", "sessions.message", "keywords.entry")
        before = {table: await rows(connection, table) for table in tables}
    assert found.ok, found.lines()
    assert found.shredded > 0
    for name in MODELS:
        await plant.rebuild(name)
    async with plant.owner() as connection:
        assert {table: await rows(connection, table) for table in tables} == before
    detail = await plant.composition.backend.memory(scope, candidate)
    assert detail is not None
    assert detail.status is MemoryStatus.EXPIRED


async def rows(connection: Connection, table: str) -> list[tuple[object, ...]]:
    found = await connection.fetch(f"select * from {table} order by 1, 2, 3, 4")  # noqa: S608 - our own table names
    return [tuple(row.values()) for row in found]
