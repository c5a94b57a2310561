"""Showing a task: its state, with the texts that may be read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from events.bodies import Lost, Shredded, open_bodies
from events.envelope import StoredEvent
from events.keyring import Keyring
from events.model import ItemId, Slot, TaskBody
from events.postgres import Connection
from projections.task_state import TASK_PART, Item, TaskState
from services.access.rights import TokenRole
from services.access.working import readable_items
from services.tasks.lessons import lessons_of
from services.wire.tasks import ItemView, TaskView


@dataclass(frozen=True, slots=True)
class Opened:
    """A task with the texts that could be read; `head` is None once the task is over."""

    state: TaskState
    head: TaskBody | None
    texts: Mapping[ItemId, str]


async def open_task(
    connection: Connection, keyring: Keyring, started: StoredEvent, state: TaskState, reader: TokenRole
) -> Opened:
    """Open what a reader may read of a task."""
    opened = await open_bodies(connection, keyring, [(started, TASK_PART)])
    raw = opened[started.event_id, TASK_PART]
    head = None if isinstance(raw, Shredded | Lost) else TaskBody.model_validate_json(raw)
    return Opened(state, head, await readable_items(connection, keyring, state.items, reader))


async def view_of(
    connection: Connection, keyring: Keyring, name: str, opened: Opened, *, known: bool = False
) -> TaskView:
    """Show a task under its outside id."""
    state, texts = opened.state, opened.texts
    names = {} if state.turn_id is None else await keyring.outside([state.turn_id])
    pending = state.of(Slot.STEP, "pending", "failed")

    def shown(items: Iterable[Item]) -> tuple[ItemView, ...]:
        return tuple(ItemView(id=item.item_id, text=texts.get(item.item_id), memories=item.memories) for item in items)

    def one(item: Item | None) -> ItemView | None:
        return None if item is None else shown([item])[0]

    return TaskView(
        task_id=name,
        type=opened.head and opened.head.kind,
        name=opened.head and opened.head.name,
        round=state.round,
        status=state.status,
        version=state.version,
        goal=one(next(iter(state.of(Slot.GOAL, "stands")), None)),
        constraints=shown(state.constraints),
        current_step=one(state.current),
        completed=shown(state.of(Slot.STEP, "done")),
        pending=shown(pending),
        key_facts=shown(state.of(Slot.FACT, "stands")),
        last_result=one(state.result),
        errors=state.errors,
        last_error=one(next(reversed(state.of(Slot.ERROR, "stands")), None)),
        budget_left=dict(state.budget),
        started_at=state.started_at,
        expires_at=state.expires_at,
        lessons=await lessons_of(connection, keyring, state.series_id) if state.status == "running" else (),
        turn_id=None if state.turn_id is None else names.get(state.turn_id),
        known=known,
    )
