"""A forgotten thing comes back only if the person says it anew, and saying it anew is no residue (R41, R42)."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
import redis.asyncio as redis

from events.errors import UnavailableError
from events.model import EventId, MemoryId, Outcome, Role, Scope, Tombstoned, TurnFinalized
from services.access.rights import TokenRole
from services.wire.recall import ContextRequest
from services.wire.turns import MessageIn, Verdict
from tests.plant import ACTOR, MODELS, Plant, planted
from workers.delivery import Letter
from workers.ingest import TurnStream
from workers.jobs import TURNS

SAYINGS = ["我住在苏州", "Remember that I love hiking.", "请记住：我的工位在三楼靠窗。"]
HELD = (Outcome.HELD, "forgotten", "forgotten")


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


def now() -> datetime:
    return datetime.now(UTC)


def ends(verdicts: tuple[Verdict, ...]) -> list[tuple[str, str | None, str | None]]:
    return [(each.outcome, each.gate, each.reason) for each in verdicts]


async def forgotten(plant: Plant, scope: Scope, memory: MemoryId) -> None:
    """Forget a memory and see its receipt through."""
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


@pytest.mark.parametrize("said", SAYINGS)
async def test_an_older_message_that_comes_late_brings_nothing_back(plant: Plant, said: str) -> None:
    """It is held, with the reason, under any turn id and after every read model was rebuilt; others are not."""
    scope = await plant.person()
    late = now()
    await forgotten(plant, scope, await plant.remember(scope, said, "好的。"))
    for name in MODELS:
        await plant.rebuild(name)
    assert ends((await plant.say(scope, said, "好的。", at=late)).verdicts) == [HELD]
    assert await plant.recalled(scope, said) == {}
    assert [each.outcome for each in (await plant.say(scope, "My name is Lee.", at=late)).verdicts] == ["accepted"]


@pytest.mark.parametrize(
    ("role", "origin"),
    [
        *(("tool", "tool"), ("tool", "retrieved"), ("system", "injected")),
        *(("assistant", "subagent"), ("assistant", "assistant")),
    ],
)
async def test_what_is_not_the_person_saying_it_brings_nothing_back(plant: Plant, role: str, origin: str) -> None:
    """A tool, a document, a context or an agent that echoes the words later makes no memory and keeps no receipt."""
    said = SAYINGS[0]
    scope = await plant.person()
    receipt = await plant.forget(scope, await plant.remember(scope, said, "好的。"))
    await plant.follow()
    echo = {"message_id": "m1", "role": role, "origin": origin, "content": json.dumps({"note": said})}
    turn = plant.turn("What do you know of me?", at=now())
    turn = turn.model_copy(update={"messages": (*turn.messages, MessageIn.model_validate(echo))})
    await plant.rememberer.consider(await plant.placed(scope, turn))
    await plant.follow()
    outcome = await plant.composition.backend.catalogue.outcome(scope, turn.turn_id)
    assert outcome is not None
    assert not [each for each in outcome.verdicts if each.outcome == "accepted"]
    assert await plant.recalled(scope, said) == {}
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


@pytest.mark.parametrize("said", SAYINGS)
async def test_what_is_said_anew_is_remembered_again(plant: Plant, said: str) -> None:
    """A message that is later than the wish to forget is a statement like any other."""
    scope = await plant.person()
    memory = await plant.remember(scope, said, "好的。")
    await forgotten(plant, scope, memory)
    (verdict,) = (await plant.say(scope, said, "好的。", at=now())).verdicts
    assert verdict.outcome == "accepted"
    assert set(await plant.recalled(scope, said)) == {verdict.memory_id} != {memory}


@pytest.mark.parametrize(
    ("said", "other"),
    [("我住在苏州", "我住在杭州"), ("I like eating sushi.", "I love Chinese food.")],
)
async def test_another_value_of_the_same_key_is_held_too(plant: Plant, said: str, other: str) -> None:
    """An older message on a forgotten key is held, whether the key has one value or several."""
    scope = await plant.person()
    late = now()
    await forgotten(plant, scope, await plant.remember(scope, said, "好的。"))
    assert ends((await plant.say(scope, other, at=late)).verdicts) == [HELD]


async def test_what_is_held_so_does_not_even_reinforce(plant: Plant) -> None:
    """After the person said it anew, an older message that says the same changes nothing."""
    scope = await plant.person()
    late = now()
    await forgotten(plant, scope, await plant.remember(scope, SAYINGS[0], "好的。"))
    await plant.say(scope, SAYINGS[0], "好的。", at=now())
    assert ends((await plant.say(scope, SAYINGS[0], at=late)).verdicts) == [HELD]


async def test_a_date_in_the_future_is_no_way_around(plant: Plant) -> None:
    """A turn that was stored before the forget is older than it, whatever its own clock says."""
    scope = await plant.person()
    memory = await plant.remember(scope, SAYINGS[0], "好的。")
    turn = plant.turn(SAYINGS[0], "好的。", at=now() + timedelta(minutes=4))
    position = await plant.placed(scope, turn)
    await plant.forget(scope, memory)
    await plant.rememberer.consider(position)
    outcome = await plant.composition.backend.catalogue.outcome(scope, turn.turn_id)
    assert outcome is not None
    assert ends(outcome.verdicts) == [HELD]


async def test_a_fence_without_the_vault_holds_whatever_is_older(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tombstone does not wait for keys; what it could not say it was about stands for everything before it."""
    scope = await plant.person()
    late = now()
    memory = await plant.remember(scope, SAYINGS[0], "好的。")

    async def away(_: Scope) -> None:
        raise UnavailableError("the vault does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(plant.composition.backend.forgetter._vault, "keyring", away)
        await plant.forget(scope, memory)
    (stone,) = [each.event for each in await plant.stream(scope) if isinstance(each.event, Tombstoned)]
    assert stone.topics is None
    assert ends((await plant.say(scope, "My name is Lee.", at=late)).verdicts) == [HELD]
    assert [each.outcome for each in (await plant.say(scope, "My name is Lee.", at=now())).verdicts] == ["accepted"]


async def test_saying_it_anew_does_not_keep_the_receipt_pending(plant: Plant) -> None:
    """What the person says after the wish to forget is a neighbour of the forgotten memory, in every layer."""
    for said in SAYINGS:
        scope = await plant.person()
        memory = await plant.remember(scope, said, "好的。")
        receipt = await plant.forget(scope, memory)
        (verdict,) = (await plant.say(scope, said, "好的。", at=now())).verdicts
        assert verdict.outcome == "accepted"
        fields = await hand_over(plant, scope, said, now())
        await park(plant, fields)
        shown = await plant.finish(scope, receipt)
        await withdraw(plant)
        assert shown.decision == "deletion_propagated", shown.layers
        checks = {layer.layer: layer.checks for layer in shown.layers}
        for layer in ("read_path", "keyword_index", "async_queue"):
            assert checks[layer]["neighbours"] > 0
        assert len(await plant.composition.letters.of(scope)) == 1
        assert set(await plant.recalled(scope, said)) == {verdict.memory_id}


@pytest.mark.parametrize("at", [timedelta(days=-1), timedelta(minutes=4)], ids=["older", "dated ahead"])
async def test_an_older_turn_that_waits_still_keeps_it_pending(plant: Plant, at: timedelta) -> None:
    """Control: the same words in a turn that was handed over before the forget are a hit, whatever their date."""
    scope = await plant.person()
    memory = await plant.remember(scope, SAYINGS[0], "好的。")
    await hand_over(plant, scope, SAYINGS[0], now() + at)
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.finish(scope, receipt)
    await withdraw(plant)
    assert shown.decision == "DELETION_PENDING"
    assert [layer.layer for layer in shown.layers if layer.state == "present"] == ["async_queue"]
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


async def hand_over(plant: Plant, scope: Scope, said: str, at: datetime) -> dict[str, str]:
    """Put a turn on the stream."""
    token = plant.composition.tokens.issue(scope, TokenRole.AGENT, timedelta(minutes=5))[0]
    fields = {"token": token, "turn": plant.turn(said, at=at).model_dump_json(by_alias=True)}
    client = redis.from_url(plant.composition.endpoints.redis_url)
    await client.xadd(TURNS, fields)  # type: ignore[arg-type]
    await client.aclose()
    return fields


async def withdraw(plant: Plant) -> None:
    """Take every waiting turn off the stream."""
    client = redis.from_url(plant.composition.endpoints.redis_url)
    await client.delete(TURNS)
    await client.aclose()


async def park(plant: Plant, fields: dict[str, str]) -> None:
    """Park a turn as a dead letter."""
    parts = plant.composition
    stream = TurnStream(parts.ingest, parts.tokens.verifier, parts.letters, parts.limits)
    await stream.park(Letter(TURNS, f"{uuid4()}", fields, 5, "ValueError"))


@pytest.mark.parametrize("erased", [False, True], ids=["fenced", "erased"])
async def test_an_answer_from_a_context_older_than_the_forget_is_not_stored(plant: Plant, erased: bool) -> None:
    """What the agent said from it is withheld, from the fence on; what the person said stays, and the turn is known."""
    scope = await plant.person()
    memory = await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "好的。")
    context = await context_of(plant, scope, memory)
    receipt = await plant.forget(scope, memory)
    if erased:
        await plant.follow()
        assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    turn = plant.turn("今晚吃什么？我住在苏州。", "按你的口味，吃北京烤鸭吧。", contexts=[context], at=now())
    position = await plant.placed(scope, turn)
    assert (await plant.store(scope, turn)).state == "known"
    await plant.rememberer.consider(position)
    await plant.follow()
    stored = (await plant.turns(scope))[-1]
    assert isinstance(stored.event, TurnFinalized)
    assert ([head.role for head in stored.event.messages], len(stored.event.withheld)) == ([Role.USER], 1)
    shown = await plant.composition.backend.context(scope, asking(session_id="s1"))
    assert "苏州" in shown.text
    assert "烤鸭" not in shown.text
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


async def test_an_answer_from_a_context_that_holds_nothing_forgotten_is_stored(plant: Plant) -> None:
    """Control: only a context into which the forgotten memory went withholds an answer."""
    scope = await plant.person()
    kept = await plant.remember(scope, "我住在苏州", "好的。")
    context = await context_of(plant, scope, kept)
    memory = await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "好的。")
    await forgotten(plant, scope, memory)
    await plant.store(scope, plant.turn("我住在哪里？", "苏州。", contexts=[context, uuid4()], at=now()))
    await plant.sealed()
    stored = (await plant.turns(scope))[-1].event
    assert isinstance(stored, TurnFinalized)
    assert (len(stored.messages), stored.withheld) == (2, ())


async def test_an_answer_that_races_with_the_forget_goes_or_is_not_stored(plant: Plant) -> None:
    """Whoever is first, no answer from the forgotten memory can be opened afterwards."""
    for number in range(12):
        scope = await plant.person()
        memory = await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "好的。")
        turn = plant.turn("今晚吃什么？", "北京烤鸭。", contexts=[await context_of(plant, scope, memory)], at=now())
        pair = [plant.store(scope, turn), plant.composition.backend.forgetter.forget(scope, memory, ACTOR)]
        results = await asyncio.gather(*(pair if number % 2 else reversed(pair)))
        (receipt,) = (each for each in results if isinstance(each, UUID))
        await plant.follow()
        assert (await plant.finish(scope, EventId(receipt))).decision == "deletion_propagated"
        stored = (await plant.turns(scope))[-1]
        (user, *answers) = stored.parts
        keyring = await plant.composition.vault("opener").keyring(scope)
        assert set(await keyring.load([user.key_id, *(part.key_id for part in answers)])) == {user.key_id}


async def context_of(plant: Plant, scope: Scope, memory: MemoryId) -> UUID:
    """Compile a context that holds a memory."""
    context = await plant.composition.backend.context(scope, asking())
    assert memory in {each.memory_id for each in context.memories}
    return context.context_id


def asking(**more: str) -> ContextRequest:
    return ContextRequest.model_validate({"query": "晚饭吃什么", "role": "chat", **more})
