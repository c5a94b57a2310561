"""Turns handed over by XADD on a real server: in the order of the stream, and what is no text is a letter at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import cast

import pytest
import redis.asyncio as redis

from events.model import Position, Scope, TurnFinalized
from services.access.rights import TokenRole
from tests.plant import Plant, planted
from workers.jobs import TURNS


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


@pytest.fixture
async def client(plant: Plant) -> AsyncIterator["redis.Redis"]:
    """Give a client of a producer in any language."""
    client = redis.from_url(plant.composition.endpoints.redis_url)
    yield client
    await client.aclose()


@asynccontextmanager
async def taking(plant: Plant) -> AsyncIterator[None]:
    """Run the worker that takes turns off the stream."""
    delivery = plant.composition.delivery(plant.composition._turns().route())
    await delivery.start()
    try:
        yield
    finally:
        await delivery.stop()


def token(plant: Plant, scope: Scope) -> str:
    return plant.composition.tokens.issue(scope, TokenRole.AGENT, timedelta(minutes=5))[0]


async def taken(client: "redis.Redis") -> None:
    async with asyncio.timeout(90):
        while await client.xlen(TURNS):  # noqa: ASYNC110 - what another server does rings no bell
            await asyncio.sleep(0.02)


async def test_turns_of_one_person_end_in_the_order_they_were_handed_over(plant: Plant, client: "redis.Redis") -> None:
    """Thirty turns sent in one pipeline are in the log in that order, and of a turn id sent twice the first counts."""
    scope = await plant.person()
    names = [f"turn-{number}" for number in range(30)]
    async with taking(plant):
        async with client.pipeline(transaction=False) as pipe:
            for name in names:
                for said in ("我喜欢红茶", "我喜欢绿茶"):
                    turn = plant.turn(said, "好的。", turn_id=name).model_dump_json(by_alias=True)
                    pipe.xadd(TURNS, {"token": token(plant, scope), "turn": turn})
            await pipe.execute()
        await taken(client)
    await plant.sealed()
    stored = sorted(await plant.turns(scope), key=lambda each: each.position or Position(0))
    keyring = await plant.composition.vault("opener").keyring(scope)
    ids = [each.event.turn_id for each in stored if isinstance(each.event, TurnFinalized)]
    outside = await keyring.outside(ids)
    assert [outside[each] for each in ids] == names
    letters = await plant.composition.letters.of(scope)
    assert [("绿茶" in (each.text or ""), each.reason) for each in letters] == [(True, "TurnConflictError")] * 30


@pytest.mark.parametrize("broken", ["value", "name", "token"])
async def test_an_entry_that_is_not_utf8_is_a_letter_at_once(plant: Plant, client: "redis.Redis", broken: str) -> None:
    """Bytes that are no text are parked at the first delivery, and what comes after them is stored."""
    scope = await plant.person()
    turn = plant.turn("我喜欢白茶", "好的。").model_dump_json(by_alias=True).encode()
    fields = {b"token": token(plant, scope).encode(), b"turn": turn}
    entries = {
        "value": fields | {b"turn": turn.replace("白茶".encode(), b"\xff\xfe")},
        "name": fields | {b"\xff": b"1"},
        "token": fields | {b"token": b"\xff\xfe"},
    }
    known = {each.letter_id for each in await plant.composition.letters.parked()}
    async with taking(plant):
        entry = cast("bytes", await client.xadd(TURNS, entries[broken]))  # type: ignore[arg-type]
        await client.xadd(TURNS, fields)  # type: ignore[arg-type]
        await taken(client)
    (letter,) = [each for each in await plant.composition.letters.parked() if each.letter_id not in known]
    assert (letter.entry_id, letter.deliveries) == (entry.decode(), 1)
    assert letter.reason == ("CredentialError" if broken == "token" else "MalformedError")
    assert len(await plant.turns(scope)) == 1
