"""Dead letters in an operator's hands: listed without content, replayed through their handler, dropped for good."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import cast
from uuid import uuid4

import pytest
import redis.asyncio as redis

from events.errors import BadInputError
from events.model import Scope, TurnConsidered
from services.access.rights import TokenRole
from services.forgetting.letters import Parked
from services.wire.turns import TurnIn
from tests.plant import Plant, planted
from workers.delivery import Letter
from workers.jobs import ERASE, REMEMBER, TURNS, Jobs
from workers.remember import sweep


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("letters")) as plant:
        yield plant


@pytest.fixture(autouse=True)
async def no_letters(plant: Plant) -> AsyncIterator[None]:
    """Leave no letter behind."""
    yield
    async with plant.owner() as connection:
        await connection.execute("delete from ops.dead_letter")


async def park(plant: Plant, stream: str, **fields: str) -> Parked:
    """Let a handler park an entry, as the delivery does after its tries; return how it is listed."""
    routes = [route() for _, own in plant.composition.workers().values() for route in own]
    (route,) = (each for each in routes if each.stream == stream)
    entry = f"{uuid4()}"
    await route.park(Letter(stream, entry, fields, 5, "RuntimeError"))
    (letter,) = (each for each in await plant.composition.letter_box.parked(stream) if each.entry_id == entry)
    return letter


async def park_turn(plant: Plant, scope: Scope, turn: TurnIn) -> Parked:
    token = plant.composition.tokens.issue(scope, TokenRole.AGENT, timedelta(minutes=5))[0]
    return await park(plant, TURNS, token=token, turn=turn.model_dump_json(by_alias=True))


async def ends(plant: Plant, scope: Scope) -> list[dict[str, int]]:
    return [dict(each.event.counts) for each in await plant.stream(scope) if isinstance(each.event, TurnConsidered)]


async def test_a_parked_turn_is_stored_by_its_replay(plant: Plant) -> None:
    """Once its cause is gone a turn gets in; a second letter of the same turn adds nothing; both letters are gone."""
    scope, turn = await plant.person(), plant.turn("我住在苏州", "好的。")
    letters = [await park_turn(plant, scope, turn) for _ in range(2)]
    assert [(each.scope, each.reason, each.sealed, each.position) for each in letters] == [
        (scope, "RuntimeError", True, None)
    ] * 2
    for letter in letters:
        await plant.composition.letter_box.replay(letter)
    await plant.sealed()
    assert len(await plant.turns(scope)) == 1
    assert await plant.composition.letter_box.parked() == []
    assert await plant.composition.letters.of(scope) == []


async def test_what_still_fails_stays_parked(plant: Plant) -> None:
    """A replay that fails keeps the letter; of one without an owner nothing was kept that could be replayed."""
    scope = await plant.person()
    token = plant.composition.tokens.issue(scope, TokenRole.AGENT, timedelta(minutes=5))[0]
    letters = [
        await park(plant, TURNS, token=token, turn="{}"),
        await park(plant, TURNS, token="none", turn=plant.turn("我住在苏州").model_dump_json()),
        await park(plant, REMEMBER, position="no number"),
    ]
    for letter in letters:
        with pytest.raises(BadInputError):
            await plant.composition.letter_box.replay(letter)
    assert await plant.composition.letter_box.parked() == letters
    for letter in letters:
        await plant.composition.letter_box.drop(letter)
    assert await plant.composition.letter_box.parked() == []


async def test_a_dropped_letter_takes_its_key_along(plant: Plant) -> None:
    """The data key of a dropped letter is destroyed, so that a copy of its row opens nowhere."""
    scope = await plant.person()
    letter = await park_turn(plant, scope, plant.turn("我住在苏州"))
    keys = "select count(*) from vault.data_key where subject_id = $1"
    async with plant.vault() as vault:
        assert await vault.fetchval(keys, scope.subject_id) == 1
        await plant.composition.letter_box.drop(letter)
        assert await vault.fetchval(keys, scope.subject_id) == 0


async def test_a_turn_whose_job_was_parked_ends_with_its_real_outcome_when_replayed(plant: Plant) -> None:
    """It stays open and unswept while its letter lies there; the replay ends it, once; a drop ends it as failed."""
    replayed, dropped = await plant.person(), await plant.person()
    letters = []
    for scope in (replayed, dropped):
        position = (await plant.store(scope, plant.turn("我住在苏州", "好的。"))).position
        letters.append(await park(plant, REMEMBER, position=str(position)))
        await park(plant, REMEMBER, position=str(position))  # a job that was queued twice
    assert [each.sealed for each in letters] == [False, False]
    await plant.follow()
    assert not await swept(plant) & {str(each.position) for each in letters}
    for letter in await plant.composition.letter_box.parked(REMEMBER):
        if letter.position == letters[0].position:
            await plant.composition.letter_box.replay(letter)
        else:
            await plant.composition.letter_box.drop(letter)
    assert await ends(plant, replayed) == [{"accept": 1}]
    assert await ends(plant, dropped) == [{"failed": 1}]


async def test_a_parked_erasure_is_carried_on_by_its_replay(plant: Plant) -> None:
    """The replay does what the job would have done: the keys are destroyed."""
    scope = await plant.person()
    receipt = await plant.forget(scope, await plant.remember(scope, "我住在苏州", "好的。"))
    tombstone = await plant.tombstone(scope, receipt)
    await plant.follow()
    await plant.composition.letter_box.replay(await park(plant, ERASE, position=str(tombstone.position)))
    shown = await plant.composition.backend.receipt(scope, receipt)
    assert shown is not None
    assert shown.decision == "deletion_propagated"


async def swept(plant: Plant) -> set[str]:
    """Let the sweeper look for turns of any age; return what it queued."""
    url = plant.composition.endpoints.redis_url
    client, jobs = redis.from_url(url), Jobs(url)
    await client.delete(REMEMBER)
    sweeping = asyncio.create_task(sweep(plant.composition.log("projector"), jobs, 0.05))
    try:
        await asyncio.sleep(0.5)
        entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await client.xrange(REMEMBER))
        return {fields[b"position"].decode() for _, fields in entries}
    finally:
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)
        await jobs.close()
        await client.delete(REMEMBER)
        await client.aclose()
