"""The task at hand and the summary of the session, as an agent may see them in a context (R35, R51, R52)."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from events.envelope import task_stream
from events.keyring import Keyring
from events.log import read_stream
from events.model import MemoryId, Origin, SessionId, Slot, TaskId
from events.postgres import Connection
from projections.facts import read_memories
from projections.sessions import recent_turns
from projections.summaries import read_summary
from projections.task_state import Item, TaskState, fold
from services.access.rights import TokenRole
from services.access.spoken import Spoken, spoken
from services.access.working import readable_items
from services.context.roles import Part, RolePolicy
from services.context.values import Said, Summed, Task, TaskFact
from services.recall.bm25 import Key
from services.wire.names import message_of

_TURNS: Final = 20  # how many recent turns are offered to the compiler
_HEARD: Final = frozenset({Origin.USER, Origin.ASSISTANT, Origin.TOOL})
_MOST: Final = 10  # of each sort: the first steps that are pending, the last facts


@dataclass(frozen=True, slots=True)
class AtHand:
    """Working memory for the compiler, and the memory versions that it gives away.

    `missing` says why there is no task, where one was asked for.
    """

    task: Task | None = None
    summary: tuple[Summed, ...] = ()
    recent: tuple[Said, ...] = ()
    given: tuple[Key, ...] = ()
    missing: str | None = None

    def without(self, memories: Collection[UUID]) -> "AtHand":
        """Leave out what rests on some memories."""
        gone = {*memories}
        kept = tuple(each for each in self.summary if not each.memories & gone)
        return replace(self, task=self.task and self.task.without(memories), summary=kept)


async def at_hand(
    connection: Connection, keyring: Keyring, policy: RolePolicy, task: str | None, session: str | None
) -> AtHand:
    """Read what a role may see of a task and a session, by the caller's ids."""
    found = AtHand()
    if task is not None and Part.TASK in policy.parts:
        found = await _task(connection, keyring, task)
    internal = None if session is None else await keyring.find(("session", session))
    if internal is None:
        return found
    if Part.SUMMARY in policy.parts:
        summary, given = await _summary(connection, keyring, SessionId(internal))
        found = replace(found, summary=summary, given=tuple(sorted({*found.given, *given})))
    if Part.RECENT in policy.parts:
        found = replace(found, recent=await _recent(connection, keyring, SessionId(internal)))
    return found


async def _recent(connection: Connection, keyring: Keyring, session: SessionId) -> tuple[Said, ...]:
    """Open what was said last in a session; what a tool returned is named, not repeated."""
    turns = await recent_turns(connection, keyring.scope, session, _TURNS)
    said = await spoken(connection, keyring, {turn.turn_id for turn in turns}, _HEARD)
    tools = [each for each in said if each.row.origin is Origin.TOOL]
    names = await keyring.outside({id_ for each in tools for id_ in (each.row.turn_id, each.row.message_id)})

    def text(each: Spoken) -> str:
        if each.row.origin is not Origin.TOOL:
            return each.text
        message = message_of(names.get(each.row.message_id, ""))
        return f"result {names.get(each.row.turn_id, '')}/{message} ({len(each.text)} characters)"

    return tuple(Said(each.row.message_id, each.row.role, text(each)) for each in said)


async def _task(connection: Connection, keyring: Keyring, name: str) -> AtHand:
    """Read a task from its own stream, so that nothing lags; what rests on what is closed to an agent is left out."""
    internal = await keyring.find(("task", name))
    if keyring.scope.audience.task not in {None, internal}:
        internal = None  # a credential of one task reads no other
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
    return AtHand(task, given=await _given(connection, keyring, _memories(task, state)))


async def _summary(
    connection: Connection, keyring: Keyring, session: SessionId
) -> tuple[tuple[Summed, ...], tuple[Key, ...]]:
    """Read a session's summary, and the memory versions that it gives away; what is closed to an agent is left out."""
    summary = await read_summary(connection, keyring.scope, session)
    if summary is None:
        return (), ()
    texts = await readable_items(connection, keyring, summary.items, TokenRole.AGENT)
    lines = tuple(
        Summed(item.item_id, item.slot, texts[item.item_id], frozenset(item.memories))
        for item in summary.items
        if item.item_id in texts
    )
    return lines, await _given(connection, keyring, {memory for line in lines for memory in line.memories})


def _memories(task: Task, state: TaskState) -> set[MemoryId]:
    memories: set[MemoryId] = {memory for fact in task.facts for memory in fact.memories}
    if state.result is not None and task.result is not None:
        memories |= {*state.result.memories}
    return memories


async def _given(connection: Connection, keyring: Keyring, memories: set[MemoryId]) -> tuple[Key, ...]:
    """Name the newest versions of the memories that texts rest on: who reads these has read of them."""
    newest: dict[MemoryId, int] = {}
    for memory, version in await read_memories(connection, keyring.scope, memories) if memories else ():
        newest[memory] = max(version, newest.get(memory, 0))
    return tuple(sorted(newest.items()))
