"""What an event does to the state of a task: the one fold behind the read model, every decision and every reader (R52).

It branches on envelopes only; the texts are opaque cargo, so shredding any key leaves the same state minus content.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from events.envelope import StoredEvent
from events.model import (
    PRIVATE,
    Audience,
    EventId,
    ItemHead,
    ItemId,
    KeyId,
    MemoryId,
    MessageId,
    Slot,
    SummarySlot,
    TaskAbandoned,
    TaskCompleted,
    TaskConstraintChanged,
    TaskErred,
    TaskExpired,
    TaskId,
    TaskObserved,
    TaskSpent,
    TaskStarted,
    TaskStep,
    TurnId,
)

Status = Literal["running", "succeeded", "partial", "failed", "abandoned", "expired"]
Standing = Literal["stands", "replaced", "pending", "begun", "done", "failed", "dropped"]

OPEN_STEPS: Final = frozenset[Standing]({"pending", "begun", "failed"})
"""Steps that may still be begun or finished; a failed one may be tried again."""

TASK_PART: Final = "task"


def item_part(item: ItemId) -> str:
    """Name the body part that holds a text of working memory."""
    return f"item:{item}"


@dataclass(frozen=True, slots=True)
class Item:
    """One text of working memory, without the text: what it is, what it rests on, and where it is sealed."""

    item_id: ItemId
    slot: Slot | SummarySlot
    standing: Standing
    memories: tuple[MemoryId, ...]
    messages: tuple[MessageId, ...]
    event_id: EventId
    key_id: KeyId
    version: int


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task after some of its events. `items` are in the order in which they were told; none of a task that is over.

    `version` is that of its stream. `turn_id` is its closing turn, once it is completed, and `way` a keyed digest of
    the steps it took.
    """

    task_id: TaskId
    series_id: UUID
    round: int
    status: Status
    version: int
    errors: int
    budget: Mapping[str, int]
    started_at: datetime
    changed_at: datetime
    expires_at: datetime
    event_id: EventId
    turn_id: TurnId | None
    way: str | None
    items: tuple[Item, ...]
    audience: Audience = PRIVATE

    def of(self, slot: Slot, *standing: Standing) -> tuple[Item, ...]:
        """Return the items of one sort that stand in one of these ways."""
        return tuple(item for item in self.items if item.slot is slot and item.standing in standing)

    @property
    def constraints(self) -> tuple[Item, ...]:
        """The constraints that hold."""
        return self.of(Slot.CONSTRAINT, "stands")

    @property
    def current(self) -> Item | None:
        """The step that was begun and is not over."""
        return next(iter(self.of(Slot.STEP, "begun")), None)

    @property
    def result(self) -> Item | None:
        """The last tool result, by reference."""
        return next(reversed(self.of(Slot.RESULT, "stands")), None)


def fold(state: TaskState | None, events: Iterable[StoredEvent]) -> TaskState | None:
    """Apply events of one task's stream, in order; None before the first."""
    for stored in events:
        event = stored.event
        if isinstance(event, TaskStarted):
            state = _started(stored, event)
        elif state is not None:
            state = replace(_changed(state, stored), version=stored.version)
    return state


def _started(stored: StoredEvent, event: TaskStarted) -> TaskState:
    return TaskState(
        task_id=event.task_id,
        series_id=event.series_id,
        round=event.round,
        status="running",
        version=stored.version,
        errors=0,
        budget=dict(event.budget),
        started_at=stored.recorded_at,
        changed_at=stored.recorded_at,
        expires_at=event.expires_at,
        event_id=stored.event_id,
        turn_id=None,
        way=None,
        items=_items(stored, event.items),
        audience=event.audience,
    )


def _changed(state: TaskState, stored: StoredEvent) -> TaskState:
    event = stored.event
    match event:
        case TaskStep(change="planned") | TaskObserved():
            new = _with(state, stored, event.items)
        case TaskStep():
            standing: Standing = "done" if event.change == "planned" else event.change
            new = _standing(state, event.step_id, standing)
        case TaskErred():
            new = replace(_with(state, stored, event.items), errors=state.errors + 1)
        case TaskSpent():
            left = {name: left - event.spent.get(name, 0) for name, left in state.budget.items()}
            new = replace(state, budget=left)
        case TaskConstraintChanged():
            new = _with(_standing(state, event.was, "replaced"), stored, event.items)
        case TaskCompleted():
            new = replace(state, status=event.outcome, turn_id=event.turn_id, way=event.way, items=())
        case TaskAbandoned():
            new = replace(state, status="abandoned", items=())
        case TaskExpired():
            new = replace(state, status="expired", items=())
        case _:  # what expires beside the end of a task is the bodies, which no state holds
            return state
    return replace(new, changed_at=stored.recorded_at)


def _with(state: TaskState, stored: StoredEvent, heads: Iterable[ItemHead]) -> TaskState:
    return replace(state, items=(*state.items, *_items(stored, heads)))


def _items(stored: StoredEvent, heads: Iterable[ItemHead]) -> tuple[Item, ...]:
    keys = {part.name: part.key_id for part in stored.parts}
    return tuple(
        Item(
            item_id=head.item_id,
            slot=head.slot,
            standing="pending" if head.slot is Slot.STEP else "stands",
            memories=head.memories,
            messages=head.messages,
            event_id=stored.event_id,
            key_id=keys[item_part(head.item_id)],
            version=stored.version,
        )
        for head in heads
    )


def _standing(state: TaskState, item_id: ItemId | None, standing: Standing) -> TaskState:
    items = (replace(item, standing=standing) if item.item_id == item_id else item for item in state.items)
    return replace(state, items=tuple(items))
