import asyncio
from collections.abc import Generator
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from cenotaph.answers import Context, Stored
from cenotaph.calls import Turn
from cenotaph.client import AsyncCenotaph
from cenotaph.errors import CenotaphError
from cenotaph.hooks import Draft, recording, recording_async
from services.wire.turns import TurnIn
from tests.unit.client.door import Door

STORED = Stored(turn_id="t", state="stored", redacted={}, position=1)


class Inbox:
    """Takes turns; fails as often as it is told."""

    def __init__(self, failures: int = 0) -> None:
        self.turns: list[Turn] = []
        self.failures = failures

    def finalize(self, turn: Turn) -> Stored:
        """Take one."""
        self.turns.append(turn)
        if self.failures:
            self.failures -= 1
            raise CenotaphError("unavailable", "no answer", status=503)
        return STORED


class AsyncInbox(Inbox):
    """Takes turns once it is let."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__(failures)
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.done = asyncio.Event()

    async def finalize(self, turn: Turn) -> Stored:  # type: ignore[override]  # the asyncio half of the same double
        """Take one."""
        self.entered.set()
        await self.open.wait()
        stored = Inbox.finalize(self, turn)
        self.done.set()
        return stored


def context(text: str = "- 不吃牛肉") -> Context:
    """Make a compiled context."""
    return Context(
        context_id=uuid4(), text=text, used_tokens=3, token_budget=800, memories=(), left_out=(), sections=()
    )


def left_by(error: BaseException, inbox: Inbox) -> None:
    """Record a turn whose block raises."""
    with recording(inbox, "s", turn_id="t-9") as turn:
        turn.user("hello 你好")
        raise error


async def left_by_async(error: BaseException, inbox: AsyncInbox) -> None:
    """Record a turn whose block raises."""
    async with recording_async(inbox, "s") as turn:
        turn.user("hello 你好")
        raise error


def test_completed() -> None:
    """A block that ends well hands over one completed turn with everything in order."""
    inbox, injected = Inbox(), context()
    with recording(inbox, "s-1", turn_id="t-1") as turn:
        turn.user("晚饭吃什么？")
        assert turn.inject(injected) is injected
        turn.retrieved("a recipe")
        turn.tool("12 °C")
        turn.subagent("pasta")
        turn.assistant("豆腐 tofu")
    [sent] = inbox.turns
    assert (sent.turn_id, sent.session_id, sent.status, sent.contexts) == (
        "t-1",
        "s-1",
        "completed",
        (injected.context_id,),
    )
    assert [(each["message_id"], each["role"], each.get("origin")) for each in sent.messages] == [
        ("1", "user", "user"),
        ("2", "system", "injected"),
        ("3", "tool", "retrieved"),
        ("4", "tool", "tool"),
        ("5", "assistant", "subagent"),
        ("6", "assistant", "assistant"),
    ]
    assert sent.occurred_at.utcoffset() is not None
    assert turn.stored == STORED


@pytest.mark.parametrize(
    ("error", "status"),
    [(ValueError("x"), "failed"), (KeyboardInterrupt(), "cancelled"), (asyncio.CancelledError(), "cancelled")],
)
def test_left_by_an_exception(error: BaseException, status: str) -> None:
    """A block that raises hands the turn over as failed or cancelled, and the exception comes out."""
    inbox = Inbox()
    with pytest.raises(type(error)) as caught:
        left_by(error, inbox)
    assert caught.value is error
    assert [sent.status for sent in inbox.turns] == [status]


def test_closed_generator() -> None:
    """A streaming answer that nobody reads to its end is a cancelled turn."""
    inbox = Inbox()

    def stream() -> Generator[str, None, None]:
        with recording(inbox, "s") as turn:
            turn.user("讲个故事")
            yield "once"
            yield "upon"
            turn.assistant("once upon")

    words = stream()
    assert next(words) == "once"
    words.close()
    assert [sent.status for sent in inbox.turns] == ["cancelled"]


def test_decided_inside() -> None:
    """The block can decide that the turn was cancelled; the first decision holds."""
    inbox = Inbox()
    with recording(inbox, "s") as turn:
        turn.user("stop 停")
        turn.finish("cancelled")
    assert [sent.status for sent in inbox.turns] == ["cancelled"]


def test_nothing_said() -> None:
    """A turn in which nothing was said is not handed over."""
    inbox = Inbox()
    with recording(inbox, "s") as turn:
        turn.tool("")
        turn.inject(context(text=""))
    assert inbox.turns == []


def test_published_once() -> None:
    """A turn that is handed over is not handed over again."""
    inbox = Inbox()
    with recording(inbox, "s") as turn:
        turn.user("hi 嗨")
        turn.publish(inbox)
    turn.publish(inbox)
    assert len(inbox.turns) == 1


def test_over_is_over() -> None:
    """Nothing can be added to a turn that is over."""
    draft = Draft("s")
    draft.user("hi")
    draft.finish("completed")
    with pytest.raises(RuntimeError, match="is over"):
        draft.assistant("late")


def test_failed_hand_over() -> None:
    """Where the hand-over fails the error comes out, and publishing again sends the very same turn."""
    inbox = Inbox(failures=1)
    with pytest.raises(CenotaphError), recording(inbox, "s") as turn:
        turn.user("记住我叫林夏")
    assert turn.publish(inbox) == STORED
    assert inbox.turns[0] == inbox.turns[1]


def test_own_exception_first() -> None:
    """A failing hand-over does not hide the block's own exception; it is noted there."""
    inbox = Inbox(failures=1)
    with pytest.raises(ValueError, match="own") as caught:
        left_by(ValueError("own"), inbox)
    assert caught.value.__notes__ == [
        "turn t-9 was not handed over (CenotaphError); publish it again with the same draft"
    ]


async def test_cancelled_task() -> None:
    """A cancelled task still hands its turn over, as cancelled."""
    inbox, started = AsyncInbox(), asyncio.Event()

    async def answer() -> None:
        async with recording_async(inbox, "s") as turn:
            turn.user("慢慢想")
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(answer())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [sent.status for sent in inbox.turns] == ["cancelled"]


async def test_cancelled_while_handing_over() -> None:
    """A cancellation during the hand-over ends the task, and the hand-over goes on to its end."""
    inbox = AsyncInbox()
    inbox.open.clear()

    async def answer() -> None:
        async with recording_async(inbox, "s") as turn:
            turn.user("hi 嗨")

    task = asyncio.create_task(answer())
    await inbox.entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    inbox.open.set()
    await inbox.done.wait()
    assert [sent.status for sent in inbox.turns] == ["completed"]


async def test_failed_block_asyncio() -> None:
    """A failing block hands the turn over as failed; a failing hand-over is a note."""
    good, bad = AsyncInbox(), AsyncInbox(failures=1)
    for inbox in (good, bad):
        with pytest.raises(ValueError, match="own") as caught:
            await left_by_async(ValueError("own"), inbox)
        assert len(getattr(caught.value, "__notes__", [])) == (inbox is bad)
        assert [sent.status for sent in inbox.turns] == ["failed"]


async def test_through_the_door(door: Door, memory: AsyncCenotaph) -> None:
    """What the hook hands over is what the door takes, context and all."""
    async with recording_async(memory, "s-1", occurred_at=datetime.now(UTC)) as turn:
        turn.user("晚饭吃什么？")
        turn.inject(await memory.context("晚饭", role="chat"))
        turn.retrieved("tofu, 豆腐")
        turn.subagent("a plan")
        turn.assistant("豆腐")
    assert turn.stored is not None
    given = next(args[1] for name, args in door.backend.calls if name == "finalize")
    assert isinstance(given, TurnIn)
    assert [message.origin for message in given.messages] == ["user", "injected", "retrieved", "subagent", "assistant"]
    assert len(given.contexts) == 1
