"""The task at hand, as an agent may see it in a context (R35, R52)."""

from dataclasses import dataclass
from typing import Final

from events.envelope import task_stream
from events.keyring import Keyring
from events.log import read_stream
from events.model import MemoryId, Slot, TaskId
from events.postgres import Connection
from projections.facts import read_memories
from projections.task_state import Item, TaskState, fold
from services.access.rights import TokenRole
from services.access.working import readable_items
from services.context.values import Task, TaskFact
from services.recall.bm25 import Key

_MOST: Final = 10  # of each sort: the first steps that are pending, the last facts


@dataclass(frozen=True, slots=True)
class AtHand:
    """A task for the compiler, and the memory versions that it gives away; or why there is none."""

    task: Task | None = None
    given: tuple[Key, ...] = ()
    missing: str | None = None


async def task_at_hand(connection: Connection, keyring: Keyring, name: str) -> AtHand:
    """Read a task from its own stream, so that nothing lags; what rests on what is closed to an agent is left out."""
    internal = await keyring.find(("task", name))
    stream = [] if internal is None else await read_stream(connection, keyring.scope, task_stream(TaskId(internal)))
    state = fold(None, stream)
    if state is None:
        return AtHand(missing="task_unknown")
    if state.status != "running":
        return AtHand(missing="task_over")
    facts = state.of(Slot.FACT, "stands")[-_MOST:]
    pending = state.of(Slot.STEP, "pending", "failed")[:_MOST]
    goal = state.of(Slot.GOAL, "stands")
    one = [item for item in (state.current, state.result) if item is not None]
    texts = await readable_items(
        connection, keyring, (*state.constraints, *goal, *facts, *pending, *one), TokenRole.AGENT
    )

    def text(item: Item | None) -> str | None:
        return None if item is None else texts.get(item.item_id)

    def shown(items: tuple[Item, ...]) -> tuple[str, ...]:
        return tuple(each for item in items if (each := text(item)) is not None)

    task = Task(
        task_id=state.task_id,
        goal="".join(shown(goal)),
        constraints=shown(state.constraints),
        step=text(state.current),
        pending=shown(pending),
        facts=tuple(TaskFact(each, frozenset(item.memories)) for item in facts if (each := text(item)) is not None),
        result=text(state.result),
    )
    return AtHand(task, await _given(connection, keyring, task, state))


async def _given(connection: Connection, keyring: Keyring, task: Task, state: TaskState) -> tuple[Key, ...]:
    """Name the newest versions of the memories that the facts rest on: who reads these has read of them."""
    memories: set[MemoryId] = {memory for fact in task.facts for memory in fact.memories}
    if state.result is not None and task.result is not None:
        memories |= {*state.result.memories}
    newest: dict[MemoryId, int] = {}
    for memory, version in await read_memories(connection, keyring.scope, memories) if memories else ():
        newest[memory] = max(version, newest.get(memory, 0))
    return tuple(sorted(newest.items()))
