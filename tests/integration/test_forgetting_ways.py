"""Forgetting more than one memory at once, and setting one aside, on real stores."""

from collections.abc import AsyncIterator

import pytest

from events.errors import BadInputError, PreviewChangedError
from events.model import PRIVATE, Kind, Scope, Tombstoned
from services.access.rights import TokenRole
from services.wire.names import Bounds
from services.wire.receipts import MessageOf, ReceiptView, What
from services.wire.turns import TurnIn
from tests.plant import Plant, planted


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def said(plant: Plant, scope: Scope, session: str, *words: str) -> TurnIn:
    """Say something in a session, and let it be considered and followed."""
    turn = plant.turn(*words).model_copy(update={"session_id": session})
    position = await plant.placed(scope, turn)
    await plant.rememberer.consider(position)
    await plant.follow()
    return turn


async def contents(plant: Plant, scope: Scope) -> set[str]:
    """Say what is kept."""
    page = await plant.composition.backend.memories(scope, None, 50, None, reader=TokenRole.PERSON)
    return {each.value or "" for each in page.memories}


async def forgotten(plant: Plant, scope: Scope, what: What) -> ReceiptView:
    """Forget it as the preview shows it, and finish; nothing of another person is touched."""
    backend = plant.composition.backend
    shown = await backend.preview_what(scope, what)
    assert shown is not None
    before = await plant.counts(scope)
    pending = await backend.forget_what(scope, what, shown.digest)
    assert pending is not None
    assert (pending.memories, pending.messages) == (shown.total, shown.messages)
    await plant.follow()
    receipt = await plant.until(scope, pending.receipt_id)
    assert receipt.decision == "deletion_propagated", receipt.layers
    assert await plant.counts(scope) == before
    again = await backend.forget_what(scope, what)
    assert again is not None
    assert again.receipt_id == pending.receipt_id
    assert await backend.preview_what(scope, what) is None
    return receipt


async def test_a_session_a_kind_and_a_message_are_forgotten_as_previewed(plant: Plant) -> None:
    """One tombstone takes what a preview showed and leaves the rest; again gives its receipt; others lose nothing."""
    scope, neighbour = await plant.person(), await plant.person()
    await said(plant, neighbour, "s1", "我住在苏州。", "好的。")
    await said(plant, scope, "s1", "我住在苏州。", "好的。")
    await said(plant, scope, "s2", "请记住：我喜欢北京烤鸭。", "记住了。")
    await said(plant, scope, "s2", "What a day!", "Indeed.")
    one = await said(plant, scope, "s3", "Remember that I love hiking.", "OK.")
    await said(plant, scope, "s3", "我的工位在三楼靠窗。", "好的。")
    kept = await contents(plant, scope)
    session = await forgotten(plant, scope, What(session_id="s2"))
    assert (session.scope, session.memories, session.messages) == ("session", 1, 4)
    assert {each for each in kept if "烤鸭" in each} == kept - await contents(plant, scope)
    message = What(message=MessageOf(turn_id=one.turn_id, message_id="m0"))
    assert (await forgotten(plant, scope, message)).messages == 2
    assert not any("hiking" in each for each in await contents(plant, scope))
    assert (await forgotten(plant, scope, What(kind=Kind.FACT))).scope == "kind"
    assert await contents(plant, scope) == set()
    assert await contents(plant, neighbour) == {"苏州"}
    stones = [each.event.scope for each in await plant.stream(scope) if isinstance(each.event, Tombstoned)]
    assert stones == ["session", "message", "kind"]


async def test_the_person_forgets_by_name_what_was_said_elsewhere(plant: Plant) -> None:
    """A session or message is found by its id whoever was told, but not by another reader; of two, both are named."""
    scope, backend = await plant.person(), plant.composition.backend
    coach, atlas = [await backend.bound(scope, each) for each in (Bounds(assistant="coach"), Bounds("atlas"))]
    await said(plant, coach, "q", "请记住：我喜欢北京烤鸭。", "记住了。")
    one = await said(plant, atlas, "p", "Remember that I love hiking.", "OK.")
    message = What(message=MessageOf(turn_id=one.turn_id, message_id="m0"))
    for reader, what in ((atlas, What(session_id="q")), (coach, message), (scope.within(PRIVATE), message)):
        assert await backend.preview_what(reader, what) is None
    assert (await forgotten(plant, scope, What(session_id="q"))).memories == 1
    assert (await forgotten(plant, scope, message)).messages == 2
    assert await contents(plant, scope) == set()
    for reader in (coach, atlas):
        await said(plant, reader, "twice", "What a day!", "Indeed.")
    with pytest.raises(BadInputError, match="2 places have a session of that id: assistant coach; project atlas"):
        await backend.preview_what(scope, What(session_id="twice"))
    assert await backend.preview_what(scope.within(PRIVATE), What(session_id="twice")) is None
    assert (await forgotten(plant, coach, What(session_id="twice"))).messages == 2
    assert (await forgotten(plant, atlas, What(session_id="twice"))).messages == 2


async def test_a_session_that_went_on_needs_another_look(plant: Plant) -> None:
    """With an outdated digest nothing is forgotten; of a forgotten session what comes later is forgotten anew."""
    scope, backend = await plant.person(), plant.composition.backend
    await said(plant, scope, "s1", "我住在苏州。", "好的。")
    what = What(session_id="s1")
    shown = await backend.preview_what(scope, what)
    await said(plant, scope, "s1", "请记住：我喜欢北京烤鸭。", "记住了。")
    assert shown is not None
    with pytest.raises(PreviewChangedError):
        await backend.forget_what(scope, what, shown.digest)
    assert len(await contents(plant, scope)) == 2
    first = await forgotten(plant, scope, what)
    turn = await said(plant, scope, "s1", "I live in Utrecht now.", "OK.")
    second = await forgotten(plant, scope, what)
    assert second.receipt_id != first.receipt_id
    assert await contents(plant, scope) == set()
    assert (await plant.store(scope, turn)).state == "forgotten"
    assert await backend.forget_what(scope, What(session_id="never seen")) is None


async def test_a_turn_nobody_considered_yet_is_forgotten_too(plant: Plant) -> None:
    """A message is fenced before it became a memory, and then becomes none."""
    scope = await plant.person()
    turn = plant.turn("我住在苏州。", "好的。")
    position = await plant.placed(scope, turn)
    what = What(message=MessageOf(turn_id=turn.turn_id, message_id="m0"))
    receipt = await plant.composition.backend.forget_what(scope, what)
    assert receipt is not None
    assert (receipt.memory_id, receipt.memories, receipt.messages) == (None, 0, 2)
    considered = await plant.rememberer.consider(position)
    assert considered is None or considered.counts == {}
    await plant.follow()
    assert (await plant.until(scope, receipt.receipt_id)).decision == "deletion_propagated"
    assert await contents(plant, scope) == set()


async def test_a_suspended_memory_is_read_by_nobody_until_it_is_resumed(plant: Plant) -> None:
    """From the commit on no agent reads it, and the person sees it marked; resumed it is back, unchanged."""
    scope, backend = await plant.person(), plant.composition.backend
    memory = await plant.remember(scope, "请记住：我喜欢北京烤鸭。", "记住了，北京烤鸭。")
    before = await backend.memory(scope, memory, reader=TokenRole.PERSON)
    assert await backend.suspend(scope, memory, suspended=True) is not None
    for followed in (False, True):
        if followed:
            await plant.follow()
        assert await plant.recalled(scope, "晚饭吃什么") == {}
        stone = await backend.memory(scope, memory)
        marked = await backend.memory(scope, memory, reader=TokenRole.PERSON)
        assert stone is not None
        assert marked is not None
        assert (stone.withheld, stone.content) == ("suspended", None)
        assert (marked.withheld, marked.value) == ("suspended", "北京烤鸭")
    await plant.rebuild("facts")
    assert await plant.recalled(scope, "晚饭吃什么") == {}
    assert await backend.suspend(scope, memory, suspended=False) is not None
    assert memory in await plant.recalled(scope, "晚饭吃什么")
    assert await backend.memory(scope, memory, reader=TokenRole.PERSON) == before
    assert await backend.suspend(await plant.person(), memory, suspended=True) is None
