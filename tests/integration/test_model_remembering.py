"""A model between turn and memory, on real stores: what it proposes is judged, where it fails the rules go on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from events.model import CandidateProposed, NotWritten, Scope, TenantId, Turn, TurnConsidered
from ops.composition import Composition
from services.extraction.extractor import Extracted, Rules
from services.remembering.remember import Rememberer
from services.wire.recall import ContextRequest
from tests.endpoint import Model, item, proposing, raw, serving
from tests.plant import Plant, planted

REQUEST = ContextRequest.model_validate({"query": "我住在哪里", "role": "chat"})
SAID = "嗯，礼拜三我都在云湖剧场排练话剧。别记住：我在看牙医。"
PLAY = item("礼拜三我都在云湖剧场排练话剧", "话剧", key="hobby")


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


@asynccontextmanager
async def reading_with(plant: Plant, model: Model, **other: int) -> AsyncIterator[Rememberer]:
    """Consider turns as a process would whose settings name this model."""
    settings = {"model_url": model.url, "model_name": "tiny", "model_tries": 1, **other}
    composition = Composition(plant.composition.settings.model_copy(update=settings), plant.composition.endpoints)
    try:
        yield composition.rememberer
    finally:
        await composition.close()


async def considered(plant: Plant, scope: Scope) -> TurnConsidered:
    (found,) = [each.event for each in await plant.stream(scope) if isinstance(each.event, TurnConsidered)]
    return found


async def consider(plant: Plant, scope: Scope, rememberer: Rememberer, *said: str) -> None:
    position = await plant.placed(scope, plant.turn(*said))
    await rememberer.consider(position)
    await plant.follow()


async def test_what_a_model_finds_becomes_a_memory_with_a_right_pointer(plant: Plant) -> None:
    """The rules do not find it; the memory says it in the person's words and cites where they stand."""
    scope = await plant.person()
    async with serving(proposing(PLAY, item("我在看牙医", "牙医"))) as model, reading_with(plant, model) as rememberer:
        await consider(plant, scope, rememberer, SAID, "好的。")
    (request,) = model.requests
    assert "牙医" not in request.body["messages"][-1]["content"]
    (proposed,) = [each.event for each in await plant.stream(scope) if isinstance(each.event, CandidateProposed)]
    (pointer,) = proposed.pointers
    (turn,) = await plant.turns(scope)
    assert pointer.message_id == turn.event.messages[0].message_id  # type: ignore[attr-defined]
    assert SAID[pointer.start : pointer.end] == "礼拜三我都在云湖剧场排练话剧"
    (content,) = (await plant.recalled(scope, "话剧")).values()
    assert content == "礼拜三我都在云湖剧场排练话剧"
    end = await considered(plant, scope)
    assert (end.extractor, end.fallback, end.counts) == ("model/1:tiny", None, {"accept": 1})
    assert end.notes == {"dropped_not_quoted": 1}


async def test_when_the_endpoint_dies_the_rules_go_on_and_the_log_says_so(plant: Plant) -> None:
    """The turn is remembered all the same; its end names who read it and why it was not the model."""
    scope = await plant.person()
    async with serving(raw("500 Oops")) as model, reading_with(plant, model) as rememberer:
        await consider(plant, scope, rememberer, "我住在苏州。", "好的。")
    (content,) = (await plant.recalled(scope, "我住在哪里")).values()
    assert "苏州" in content
    end = await considered(plant, scope)
    rules = plant.composition.reader_of_turns.name
    assert (end.extractor, end.fallback) == (rules, "server_error")
    (memory,) = await plant.recalled(scope, "我住在哪里")
    explained = await plant.composition.backend.explain(scope, memory)
    assert explained is not None
    assert [(each.extractor, each.fallback) for each in explained.judgements] == [(rules, "server_error")]


async def test_gates_decide_about_what_a_model_finds(plant: Plant) -> None:
    """A model cannot consent, ask to remember or make a passing wish a lasting one."""
    scope = await plant.person()
    ill = item("我对花生过敏", "花生", key="allergy")
    once = item("这次用英文回我", "英文", kind="preference", key="reply.language")
    unreal = item("要是我住在大理就好了", "大理", key="home.city")
    said = "我对花生过敏。这次用英文回我。要是我住在大理就好了。"
    async with serving(proposing(ill, once, unreal)) as model, reading_with(plant, model) as rememberer:
        await consider(plant, scope, rememberer, said, "好的。")
    ends = [each.event for each in await plant.stream(scope) if isinstance(each.event, NotWritten)]
    assert [(each.gate, each.outcome) for each in ends] == [
        ("sensitivity", "held"),
        ("ephemeral", "working_only"),
        ("assertion", "rejected"),
    ]


class Forgetful:
    """An extractor of the test's own: while it reads, the turn's memory is forgotten."""

    name = "forgetful/1"

    def __init__(self, plant: Plant, scope: Scope) -> None:
        self._plant = plant
        self._scope = scope
        self.read: list[Turn] = []

    async def extract(self, tenant: TenantId, turn: Turn) -> Extracted:
        """Read as the rules do; the first time slowly enough for a forget."""
        assert tenant == self._scope.tenant_id
        self.read.append(turn)
        found = await Rules().extract(tenant, turn)
        if len(self.read) == 1:
            (memory,) = await self._plant.recalled(self._scope, "我住在哪里")
            await self._plant.forget(self._scope, memory)
        return found.model_copy(update={"extractor": self.name})


async def test_what_is_forgotten_while_it_is_read_is_not_written(plant: Plant) -> None:
    """Its messages are opened again, and what the extractor saw before is thrown away."""
    scope = await plant.person()
    await plant.remember(scope, "我住在苏州", "好的。")
    extractor = Forgetful(plant, scope)
    composition = Composition(plant.composition.settings, plant.composition.endpoints, extractor=extractor)
    context = await plant.composition.backend.context(scope, REQUEST)
    late = plant.turn("好的。", "记住：你住在苏州。", contexts=[UUID(str(context.context_id))])
    position = await plant.placed(scope, late)
    try:
        await composition.rememberer.consider(position)
    finally:
        await composition.close()
    assert [len(turn.messages) for turn in extractor.read] == [2, 1]
    await plant.follow()
    assert await plant.recalled(scope, "我住在哪里") == {}
    ends = [each.event for each in await plant.stream(scope) if isinstance(each.event, TurnConsidered)]
    assert [each.extractor for each in ends] == [plant.composition.reader_of_turns.name, "forgetful/1"]


async def test_who_loses_a_race_does_not_ask_again(plant: Plant) -> None:
    """A model reads a turn once, however often the append has to be tried."""
    scope = await plant.person()
    async with serving(proposing(PLAY)) as model, reading_with(plant, model) as rememberer:
        position = await plant.placed(scope, plant.turn(SAID, "好的。"))
        real = rememberer._propose
        raced = False

        async def propose(*args: object) -> object:
            nonlocal raced
            proposed = await real(*args)  # type: ignore[arg-type]
            if not raced:
                raced = True
                await plant.say(scope, "我住在苏州。", "好的。")
            return proposed

        rememberer._propose = propose  # type: ignore[assignment, method-assign]
        assert await rememberer.consider(position) is not None
    assert (raced, len(model.requests)) == (True, 1)
