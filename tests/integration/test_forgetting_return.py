"""A forgotten thing comes back only if the person says it anew, and saying it anew is no residue (R41, R42)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from events.errors import UnavailableError
from events.model import MemoryId, Outcome, Position, Scope, Tombstoned
from services.wire.turns import Verdict
from tests.plant import MODELS, Plant, planted

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
    assert (await plant.finish(scope, receipt)).decision == "deletion_propagated"


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
    answer = await plant.store(scope, turn)
    assert answer.position is not None
    await plant.forget(scope, memory)
    await plant.rememberer.consider(Position(answer.position))
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
