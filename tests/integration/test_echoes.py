"""What says a memory again goes with it, or is hidden with it, wherever it was said (R41, R42)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from events.errors import PreviewChangedError
from events.model import Kind, MemoryId, Outcome, Scope, Tombstoned
from services.wire.choices import ForgetPreview
from services.wire.memories import MoveRequest
from services.wire.names import Bounds
from services.wire.recall import ContextRequest
from services.wire.receipts import MessageOf, ReceiptView, What
from services.wire.turns import TurnOutcome
from tests.plant import Plant, planted


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system of our own."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def say(plant: Plant, scope: Scope, session: str, said: str, at: datetime | None = None) -> TurnOutcome:
    """Say something in a session, and have it considered."""
    turn = plant.turn(said, at=at).model_copy(update={"session_id": session})
    await plant.rememberer.consider(await plant.placed(scope, turn))
    await plant.follow()
    outcome = await plant.composition.backend.catalogue.outcome(scope, turn.turn_id)
    assert outcome is not None
    return outcome


async def recent(plant: Plant, scope: Scope, session: str, query: str) -> str:
    """Compile the context of a session, as an agent is given it."""
    request = ContextRequest.model_validate({"query": query, "role": "chat", "session_id": session})
    return (await plant.composition.backend.context(scope, request)).model_dump_json()


async def forgotten(plant: Plant, scope: Scope, memory: MemoryId) -> None:
    """Forget a memory and see its receipt through."""
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"


@pytest.mark.parametrize(("said", "word"), [("我对花生过敏", "花生"), ("I am allergic to penicillin.", "penicillin")])
@pytest.mark.parametrize("way", ["forget", "refuse"])
async def test_what_was_held_once_and_said_twice_is_silent_in_both_sessions(
    plant: Plant, said: str, word: str, way: str
) -> None:
    """The second message, of which nothing was held, goes with the first one, or is hidden with it."""
    scope = await plant.person()
    (held,) = (await say(plant, scope, "s1", said)).verdicts
    (again,) = (await say(plant, scope, "s2", said)).verdicts
    assert (held.outcome, again.reason) == (Outcome.HELD, "already_held")
    if way == "forget":
        await forgotten(plant, scope, held.memory_id)
    else:
        await plant.composition.backend.settle(scope, held.memory_id, confirmed=False)
        await plant.follow()
    for session in ("s1", "s2"):
        assert word not in (await recent(plant, scope, session, "我们说了什么？ what did we say?"))


@pytest.mark.parametrize(
    ("said", "echo", "outcome", "word"),
    [
        ("I like jasmine tea.", "这次说一下：I like jasmine tea.", Outcome.WORKING_ONLY, "jasmine"),
        ("I like jasmine tea.", "Don't remember this, but I like jasmine tea.", Outcome.SUPPRESSED, "jasmine"),
        ("我喜欢茉莉花茶。", "这个别记：我喜欢茉莉花茶。", Outcome.SUPPRESSED, "茉莉"),
    ],
)
async def test_what_was_not_written_but_says_the_same_goes_too(
    plant: Plant, said: str, echo: str, outcome: Outcome, word: str
) -> None:
    """Said again for this once, or not to be remembered, it is gone from its session once the memory is forgotten."""
    scope = await plant.person()
    (kept,) = (await say(plant, scope, "s1", said)).verdicts
    verdicts = (await say(plant, scope, "s2", echo)).verdicts
    assert outcome in {each.outcome for each in verdicts}
    assert word in (await recent(plant, scope, "s2", "what did we say?"))
    await forgotten(plant, scope, kept.memory_id)
    assert word not in (await recent(plant, scope, "s2", "what did we say?"))


@pytest.mark.parametrize("said", ["I like jasmine tea.", "我喜欢茉莉花茶。"])
@pytest.mark.parametrize("way", ["memory", "session"])
async def test_an_equal_memory_that_was_said_anew_is_a_neighbour(plant: Plant, said: str, way: str) -> None:
    """What waits of an older message is forgotten to the end beside the living memory of a newer one, which stays."""
    scope, backend = await plant.person(), plant.composition.backend
    late = datetime.now(UTC)
    (first,) = (await say(plant, scope, "s1", said)).verdicts
    await forgotten(plant, scope, first.memory_id)
    (held,) = (await say(plant, scope, "s2", said, late)).verdicts
    (anew,) = (await say(plant, scope, "s3", said, datetime.now(UTC))).verdicts
    assert (held.outcome, anew.outcome) == (Outcome.HELD, "accepted")
    if way == "memory":
        receipt = await plant.forget(scope, held.memory_id)
    else:
        asked = await backend.forget_what(scope, What(session_id="s2"))
        assert asked is not None
        receipt = asked.receipt_id
    await plant.follow()
    shown = await plant.until(scope, receipt)
    (path,) = [each for each in shown.layers if each.layer == "read_path"]
    assert (path.state, path.checks["neighbours"] > 0) == ("absent", True)
    assert set(await plant.recalled(scope, said)) == {anew.memory_id}


KAYAK = ("My kayak is orange.", "我的皮划艇是橙色的。")
ONE = Bounds(assistant="a")


@pytest.mark.parametrize(
    ("readers", "said", "way"),
    [
        ((Bounds(), ONE), KAYAK[0], "memory"),
        ((Bounds(), ONE), KAYAK[1], "session"),
        ((Bounds(task_id="t1"), Bounds()), KAYAK[0], "session"),
        ((Bounds(task_id="t1"), Bounds()), KAYAK[1], "memory"),
        ((ONE, Bounds(assistant="b")), KAYAK[1], "memory"),
        ((Bounds(assistant="a", purpose="p"), Bounds(assistant="a", purpose="q")), KAYAK[0], "session"),
    ],
)
async def test_the_same_said_for_other_readers_keeps_no_receipt(
    plant: Plant, readers: tuple[Bounds, Bounds], said: str, way: str
) -> None:
    """Of two equal memories for different readers one is forgotten to the end beside the other, then the other too."""
    scope, backend = await plant.person(), plant.composition.backend
    bound = [await backend.bound(scope, each) for each in readers]
    spoken = [(await say(plant, each, f"s{number}", said)).verdicts for number, each in enumerate(bound)]
    first, second = (each.memory_id for verdicts in spoken for each in verdicts if each.outcome == "accepted")
    if way == "memory":
        receipt = await plant.forget(scope, first)
    else:
        asked = await backend.forget_what(bound[0], What(session_id="s0"))
        assert asked is not None
        receipt = asked.receipt_id
    await plant.follow()
    shown = await plant.until(scope, receipt)
    (index,) = [each for each in shown.layers if each.layer == "keyword_index"]
    assert index.checks["neighbours"] == 1
    assert set(await plant.recalled(scope, said)) == {second}
    await forgotten(plant, scope, second)
    assert await plant.recalled(scope, said) == {}


@pytest.mark.parametrize(("said", "first"), [(KAYAK[0], "moved"), (KAYAK[1], "again")])
async def test_what_was_moved_and_said_again_is_forgotten_apart(plant: Plant, said: str, first: str) -> None:
    """A memory that was given to one assistant, and the one said again since: neither keeps the other's receipt."""
    scope, backend = await plant.person(), plant.composition.backend
    moved = (await say(plant, scope, "s0", said)).verdicts[0].memory_id
    assert await backend.move(scope, moved, MoveRequest(assistant="a")) is not None
    await plant.follow()
    again = (await say(plant, scope, "s1", said)).verdicts[0]
    assert (again.outcome, again.memory_id != moved) == ("accepted", True)
    order = (moved, again.memory_id) if first == "moved" else (again.memory_id, moved)
    await forgotten(plant, scope, order[0])
    assert set(await plant.recalled(scope, said)) == {order[1]}
    await forgotten(plant, scope, order[1])


async def test_the_preview_of_one_memory_says_what_goes_with_it(plant: Plant) -> None:
    """It counts every message that says it and names what rests on one of them; a forgotten or foreign one has none."""
    scope, backend = await plant.person(), plant.composition.backend
    both = "请记住：我喜欢北京烤鸭。请记住：我的工位在三楼靠窗。"
    duck, desk = (each.memory_id for each in (await say(plant, scope, "s1", both)).verdicts)
    await say(plant, scope, "s2", "请记住：我喜欢北京烤鸭。")
    shown = await backend.preview_memory(scope, duck)
    assert shown is not None
    assert (shown.total, shown.messages, len(shown.turns), shown.siblings) == (1, 2, 2, (desk,))
    assert await backend.preview_memory(await plant.person(), duck) is None
    await forgotten(plant, scope, duck)
    assert await backend.preview_memory(scope, duck) is None


@pytest.mark.parametrize(
    ("before", "said", "word"),
    [
        ("Don't remember this, but I like jasmine tea.", "I like jasmine tea.", "jasmine"),
        ("翻译成英文：我喜欢茉莉花茶", "我喜欢茉莉花茶。", "茉莉"),
    ],
)
async def test_words_from_before_there_was_a_memory_go_with_it(
    plant: Plant, before: str, said: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message of which nothing was made, when there was nothing to repeat, is found by the words; others stay."""
    monkeypatch.setattr("services.forgetting.selector._ECHOES_S", 60)
    scope = await plant.person()
    await say(plant, scope, "s1", before)
    await say(plant, scope, "s2", "明天提醒我买面包 / remind me of bread")
    kept = [each for each in (await say(plant, scope, "s3", said)).verdicts if each.outcome == "accepted"]
    assert word in (await recent(plant, scope, "s1", "what did we say?"))
    await forgotten(plant, scope, kept[0].memory_id)
    assert word not in (await recent(plant, scope, "s1", "what did we say?"))
    assert "bread" in (await recent(plant, scope, "s2", "what did we say?"))


SAID = ("请记住：我喜欢北京烤鸭。", "北京烤鸭")


@pytest.mark.parametrize("way", ["memory", "description", "kind", "session", "message"])
async def test_what_a_preview_counts_is_what_goes_and_one_more_word_of_it_refuses(
    plant: Plant, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages found by their words are in preview and digest, and another memory that rests on one is named."""
    monkeypatch.setattr("services.forgetting.selector._ECHOES_S", 60)
    scope, backend = await plant.person(), plant.composition.backend
    await say(plant, scope, "s0", "翻译成英文：我喜欢北京烤鸭")
    both = "请记住：我的工位在三楼靠窗。翻译成英文：我喜欢北京烤鸭"
    (desk,) = [each for each in (await say(plant, scope, "s2", both)).verdicts if each.outcome == "accepted"]
    turn = plant.turn(SAID[0]).model_copy(update={"session_id": "s1"})
    await plant.rememberer.consider(await plant.placed(scope, turn))
    await plant.follow()
    outcome = await backend.catalogue.outcome(scope, turn.turn_id)
    assert outcome is not None
    (kept,) = outcome.verdicts
    what = {
        "kind": What(kind=Kind.PREFERENCE),
        "session": What(session_id="s1"),
        "message": What(message=MessageOf(turn_id=turn.turn_id, message_id="m0")),
    }.get(way)

    async def preview() -> ForgetPreview:
        if what is not None:
            shown = await backend.preview_what(scope, what)
        elif way == "memory":
            shown = await backend.preview_memory(scope, kept.memory_id)
        else:
            shown = await backend.preview(scope, SAID[1])
        assert shown is not None
        return shown

    async def forget(digest: str) -> ReceiptView:
        if what is not None:
            receipt = await backend.forget_what(scope, what, digest)
        elif way == "memory":
            receipt = await backend.forget(scope, kept.memory_id, digest)
        else:
            (receipt,) = (await backend.forget_described(scope, SAID[1], digest)).receipts
        assert receipt is not None
        return receipt

    shown = await preview()
    assert (shown.total, shown.messages, shown.siblings) == (1, 3, (desk.memory_id,))
    await say(plant, scope, "s3", "翻译成英文：我喜欢北京烤鸭")
    with pytest.raises(PreviewChangedError):
        await forget(shown.digest)
    again = await preview()
    assert (again.messages, len(again.turns)) == (4, 4)
    receipt = await forget(again.digest)
    assert (receipt.memories, receipt.messages) == (1, 4)
    await plant.follow()
    assert (await plant.until(scope, receipt.receipt_id)).decision == "deletion_propagated"
    for session in ("s0", "s1", "s2", "s3"):
        assert "烤鸭" not in (await recent(plant, scope, session, "what did we say?"))
    stones = [each.event for each in await plant.stream(scope) if isinstance(each.event, Tombstoned)]
    assert [stone.orphaned for stone in stones] == [(desk.memory_id,)]
    assert desk.memory_id in await plant.recalled(scope, "工位在哪里")
