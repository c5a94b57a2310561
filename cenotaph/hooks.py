"""The finalization hook: collect a turn while it happens, hand it over once it is over (R10).

    with recording(memory, session_id="s-7") as turn:
        turn.user("晚饭吃什么？")
        context = turn.inject(memory.context("晚饭", role="chat"))
        turn.assistant(answer_with(context.text))

Leaving the block hands the turn over: `completed`, or `cancelled` where the block was cancelled or interrupted, or
`failed` where it raised; `turn.finish("cancelled")` inside the block decides it earlier. Id and body are fixed before
the first attempt, so `publish` may be called again after a failure and the door stores the turn exactly once.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID, uuid4

from cenotaph.answers import Context, Stored
from cenotaph.calls import Message, Origin, Role, Status, Turn

_CANCELLED = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt)
_HANDING_OVER: set[asyncio.Task[Stored | None]] = set()


class Finalizer(Protocol):
    """What takes a finished turn, such as `Cenotaph`."""

    def finalize(self, turn: Turn) -> Stored:
        """Store it."""
        ...


class AsyncFinalizer(Protocol):
    """What takes a finished turn, such as `AsyncCenotaph`."""

    async def finalize(self, turn: Turn) -> Stored:
        """Store it."""
        ...


class Draft:
    """A turn while it happens.

    Args:
        session_id: Your id of the conversation.
        turn_id: Your id of the turn; a random one where you have none.
        occurred_at: When it began, with its offset; now, in local time, where left out.
    """

    def __init__(self, session_id: str, *, turn_id: str | None = None, occurred_at: datetime | None = None) -> None:
        self.session_id = session_id
        self.turn_id = turn_id or uuid4().hex
        self.occurred_at = occurred_at or datetime.now().astimezone()
        self._messages: list[Message] = []
        self._contexts: list[UUID] = []
        self._finished: Turn | None = None
        self.stored: Stored | None = None

    def user(self, content: str) -> None:
        """Add what the person said."""
        self.add("user", "user", content)

    def assistant(self, content: str) -> None:
        """Add what the agent really answered."""
        self.add("assistant", "assistant", content)

    def tool(self, content: str) -> None:
        """Add what a tool returned."""
        self.add("tool", "tool", content)

    def retrieved(self, content: str) -> None:
        """Add text from a knowledge base or the web."""
        self.add("tool", "retrieved", content)

    def subagent(self, content: str) -> None:
        """Add what another agent answered."""
        self.add("assistant", "subagent", content)

    def inject(self, context: Context) -> Context:
        """Note a compiled context that goes into this turn, so that it can never become memory again; returns it."""
        self._contexts.append(context.context_id)
        if context.text:
            self.add("system", "injected", context.text)
        return context

    def add(self, role: Role, origin: Origin, content: str) -> None:
        """Add a message; its id follows from the turn's and its place.

        Raises:
            RuntimeError: The turn is already over.
        """
        if self._finished is not None:
            raise RuntimeError(f"turn {self.turn_id} is over; start a new one")
        message_id = str(len(self._messages) + 1)
        self._messages.append(Message(message_id=message_id, role=role, origin=origin, content=content))

    def finish(self, status: Status) -> Turn | None:
        """Fix how the turn ended; the first call decides. None where nothing was said, which is no turn."""
        if self._finished is None and any(message["content"].strip() for message in self._messages):
            self._finished = Turn(
                turn_id=self.turn_id,
                session_id=self.session_id,
                occurred_at=self.occurred_at,
                messages=tuple(self._messages),
                status=status,
                contexts=tuple(self._contexts),
            )
        return self._finished

    def publish(self, to: Finalizer, status: Status = "completed") -> Stored | None:
        """Hand the turn over unless it is already; call it again after a `CenotaphError`."""
        turn = self.finish(status)
        if turn is not None and self.stored is None:
            self.stored = to.finalize(turn)
        return self.stored

    async def publish_async(self, to: AsyncFinalizer, status: Status = "completed") -> Stored | None:
        """Hand the turn over unless it is already; call it again after a `CenotaphError`."""
        turn = self.finish(status)
        if turn is not None and self.stored is None:
            self.stored = await to.finalize(turn)
        return self.stored


def status_of(error: BaseException) -> Status:
    """Tell how a turn ended that was left by an exception."""
    return "cancelled" if isinstance(error, _CANCELLED) else "failed"


@contextmanager
def recording(
    to: Finalizer, session_id: str, *, turn_id: str | None = None, occurred_at: datetime | None = None
) -> Iterator[Draft]:
    """Record one turn and hand it over at the end.

    Raises:
        CenotaphError: The block went well, but the turn could not be handed over; `draft.publish(to)` tries again.
            Where the block itself raised, its own exception comes out, with a note that the turn was not stored.
    """
    draft = Draft(session_id, turn_id=turn_id, occurred_at=occurred_at)
    try:
        yield draft
    except BaseException as error:
        try:
            draft.publish(to, status_of(error))
        except Exception as failure:  # noqa: BLE001  # the block's own exception matters more
            error.add_note(_not_stored(draft, failure))
        raise
    draft.publish(to)


@asynccontextmanager
async def recording_async(
    to: AsyncFinalizer, session_id: str, *, turn_id: str | None = None, occurred_at: datetime | None = None
) -> AsyncIterator[Draft]:
    """Record one turn and hand it over at the end; a second cancellation does not stop the hand-over.

    Raises:
        CenotaphError: As with `recording`.
    """
    draft = Draft(session_id, turn_id=turn_id, occurred_at=occurred_at)
    try:
        yield draft
    except BaseException as error:
        try:
            await _unbroken(draft.publish_async(to, status_of(error)))
        except Exception as failure:  # noqa: BLE001  # the block's own exception matters more
            error.add_note(_not_stored(draft, failure))
        raise
    await _unbroken(draft.publish_async(to, "completed"))


async def _unbroken(handing_over: Coroutine[Any, Any, Stored | None]) -> None:
    task = asyncio.create_task(handing_over)
    # The loop holds tasks weakly; this one must live on when its waiter is cancelled.
    _HANDING_OVER.add(task)
    task.add_done_callback(_HANDING_OVER.discard)
    await asyncio.shield(task)


def _not_stored(draft: Draft, failure: Exception) -> str:
    return f"turn {draft.turn_id} was not handed over ({type(failure).__name__}); publish it again with the same draft"
