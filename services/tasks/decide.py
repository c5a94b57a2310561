"""What a change does to a task, as events; or why it is refused. Pure: from the folded state of this moment (R52)."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never
from uuid import UUID

from events.errors import StaleVersionError, TaskRefusedError
from events.model import (
    Event,
    Expired,
    ItemHead,
    ItemId,
    KeyId,
    MemoryId,
    MessageId,
    Slot,
    TaskAbandoned,
    TaskCompleted,
    TaskConstraintChanged,
    TaskErred,
    TaskExpired,
    TaskObserved,
    TaskSpent,
    TaskStep,
    TurnId,
)
from projections.task_state import OPEN_STEPS, Item, Standing, TaskState
from services.governance.folding import plain
from services.wire.tasks import (
    Abandon,
    BeginStep,
    Change,
    ChangeConstraint,
    Complete,
    FactIn,
    FinishStep,
    Going,
    MessageRef,
    Observe,
    PlanSteps,
    ReportError,
    Spend,
)

_MOST_ITEMS: Final = 1_000

Found = dict[MessageRef, MessageId]
"""The internal ids of the messages that a change names."""


@dataclass(frozen=True, slots=True)
class Ids:
    """What a decision needs from outside: ids of texts, of the messages it names, of the closing turn, all keys.

    `way` is the digest of the steps that were done.
    """

    new: Callable[[], ItemId]
    messages: Found
    turn: TurnId
    keys: tuple[KeyId, ...]
    way: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """An event, and its items with their texts."""

    event: Event
    items: tuple[tuple[ItemHead, str], ...] = ()


def check(
    state: TaskState, expected: int, constraints: Sequence[str] | None, holding: Collection[str | None], now: datetime
) -> None:
    """See whether a change may be made at all.

    Args:
        state: the task.
        expected: the version the workflow has seen.
        constraints: those the workflow holds itself to, where it says so.
        holding: those of the state; None for one whose text was forgotten.
        now: the present.

    Raises:
        TaskRefusedError: the task is over, or the workflow holds itself to other constraints than it declared.
        StaleVersionError: the workflow has not seen the newest version.
    """
    if state.status != "running":
        raise TaskRefusedError(f"the task is over ({state.status}); start the next round under a new task_id")
    if state.expires_at <= now:
        raise TaskRefusedError("the task has expired; start it again under a new task_id")
    if expected != state.version:
        raise StaleVersionError(state.version)
    if constraints is None:
        return
    known = {plain(text) for text in holding if text is not None}
    claimed = {plain(text) for text in constraints}
    forgotten = sum(text is None for text in holding)
    if known - claimed or len(claimed - known) > forgotten:
        raise TaskRefusedError(
            "the constraints are not those of the task: declare what changed with change_constraint first"
        )


def decide(state: TaskState, change: Change, ids: Ids) -> list[Written]:
    """Return the events of a change; those that end the task clear it.

    Raises:
        TaskRefusedError: the state does not allow it.
    """
    if isinstance(change, Complete | Abandon):
        return _ended(state, change, ids)
    if len(state.items) >= _MOST_ITEMS and not isinstance(change, FinishStep):
        raise TaskRefusedError(f"a task holds {_MOST_ITEMS} texts at most; complete it and start the next round")
    return [_written(state, change, ids)]


def lapsed(state: TaskState, keys: Iterable[KeyId]) -> list[Written]:
    """Return the events that end a task whose time is over."""
    return [Written(TaskExpired(task_id=state.task_id)), _cleared(keys)]


def _ended(state: TaskState, change: Complete | Abandon, ids: Ids) -> list[Written]:
    if isinstance(change, Abandon):
        return [Written(TaskAbandoned(task_id=state.task_id)), _cleared(ids.keys)]
    if state.current is not None:
        raise TaskRefusedError("a step is begun; finish it before the task is completed")
    completed = TaskCompleted(task_id=state.task_id, outcome=change.outcome, turn_id=ids.turn, way=ids.way)
    return [Written(completed), _cleared(ids.keys)]


def _cleared(keys: Iterable[KeyId]) -> Written:
    return Written(Expired(memories=(), messages=(), keys=tuple(dict.fromkeys(keys))))


def _written(state: TaskState, change: Going, ids: Ids) -> Written:
    task = state.task_id
    event: Event
    items: tuple[tuple[ItemHead, str], ...] = ()
    match change:
        case PlanSteps():
            items = _items(Slot.STEP, change.steps, ids)
            event = TaskStep(task_id=task, change="planned", items=_heads(items))
        case BeginStep():
            event = TaskStep(task_id=task, change="begun", step_id=_may_begin(state, change))
        case FinishStep():
            event = TaskStep(task_id=task, change=change.outcome, step_id=_may_finish(state, change))
        case Observe():
            results = () if change.result is None else (change.result,)
            items = (*_resting(Slot.FACT, change.facts, ids), *_resting(Slot.RESULT, results, ids))
            event = TaskObserved(task_id=task, items=_heads(items))
        case ReportError():
            items = _items(Slot.ERROR, (change.text,), ids)
            failed = None if change.step_id is None else _step(state, change.step_id).item_id
            event = TaskErred(task_id=task, step_id=failed, items=_heads(items))
        case Spend():
            if unknown := change.spent.keys() - state.budget.keys():
                raise TaskRefusedError(f"the task has no budget of {', '.join(sorted(unknown))}")
            event = TaskSpent(task_id=task, spent=dict(change.spent))
        case ChangeConstraint():
            becomes = () if change.becomes is None else (change.becomes,)
            items = (*_items(Slot.CONSTRAINT, becomes, ids), *_items(Slot.REASON, (change.reason,), ids))
            event = TaskConstraintChanged(task_id=task, was=_was(state, change), items=_heads(items))
        case _:
            assert_never(change)
    return Written(event, items)


def _may_begin(state: TaskState, change: BeginStep) -> ItemId:
    step = _step(state, change.step_id)
    if step.standing not in {"pending", "failed"}:
        raise TaskRefusedError(f"the step is {step.standing}; a step is begun once")
    if state.current is not None:
        raise TaskRefusedError("another step is begun; finish it first")
    if spent := [name for name, left in sorted(state.budget.items()) if left <= 0]:
        raise TaskRefusedError(f"the budget of {', '.join(spent)} is spent")
    return step.item_id


def _may_finish(state: TaskState, change: FinishStep) -> ItemId:
    step = _step(state, change.step_id)
    # what was not begun cannot be done; it can be left out
    allowed: frozenset[Standing] = OPEN_STEPS if change.outcome == "dropped" else frozenset({"begun"})
    if step.standing not in allowed:
        raise TaskRefusedError(f"the step is {step.standing}, so it cannot become {change.outcome}")
    return step.item_id


def _step(state: TaskState, step_id: UUID) -> Item:
    for item in state.items:
        if item.slot is Slot.STEP and item.item_id == step_id:
            return item
    raise TaskRefusedError("the task has no such step")


def _was(state: TaskState, change: ChangeConstraint) -> ItemId | None:
    if change.was is None:
        return None
    for item in state.constraints:
        if item.item_id == change.was:
            return item.item_id
    raise TaskRefusedError("the task has no such constraint, or it no longer holds")


def _items(slot: Slot, texts: Iterable[str], ids: Ids) -> tuple[tuple[ItemHead, str], ...]:
    return tuple((ItemHead(item_id=ids.new(), slot=slot), text) for text in texts)


def _resting(slot: Slot, facts: Iterable[FactIn], ids: Ids) -> tuple[tuple[ItemHead, str], ...]:
    return tuple(
        (
            ItemHead(
                item_id=ids.new(),
                slot=slot,
                memories=tuple(dict.fromkeys(map(MemoryId, fact.memories))),
                messages=tuple(dict.fromkeys(ids.messages[each] for each in fact.messages)),
            ),
            fact.text,
        )
        for fact in facts
    )


def _heads(items: Iterable[tuple[ItemHead, str]]) -> tuple[ItemHead, ...]:
    return tuple(head for head, _ in items)
