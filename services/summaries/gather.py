"""Reading what a summary of a session is made of, and what it is compared with."""

from collections.abc import Collection, Sequence
from typing import Final

from events.keyring import Keyring
from events.model import Kind, MemoryBody, Origin, SessionId, Slot, SummarySlot, TurnId
from events.postgres import Connection
from projections.facts import memories_of_turns
from projections.memories import open_memories
from projections.sessions import TurnRow, recent_turns
from projections.summaries import Summary
from projections.tasks import read_task, recent_tasks
from services.access.permission import permission_of
from services.access.rights import TokenRole
from services.access.spoken import spoken
from services.access.working import readable_items
from services.summaries.draft import Heard, Known, Line, Material
from services.wire.names import message_of

_TURNS: Final = 40
_EACH: Final = 10
_TASKS: Final = 20
_HEARD: Final = frozenset({Origin.USER, Origin.ASSISTANT, Origin.TOOL})
_KINDS: Final = frozenset(Kind) - {Kind.EPISODE, Kind.REFLECTION, Kind.PROCEDURE}


async def gather(connection: Connection, keyring: Keyring, session: SessionId, before: Summary | None) -> Material:
    """Read the last turns of a session, the memories said in them, the summary before, and the running tasks."""
    turns = await recent_turns(connection, keyring.scope, session, _TURNS)
    return Material(
        heard=await _heard(connection, keyring, turns),
        known=await _known(connection, keyring, {turn.turn_id for turn in turns}),
        before=() if before is None else await _before(connection, keyring, before),
        constraints=await _constraints(connection, keyring),
    )


async def _heard(connection: Connection, keyring: Keyring, turns: Sequence[TurnRow]) -> tuple[Heard, ...]:
    ids = {turn.turn_id for turn in turns}
    said = await spoken(connection, keyring, ids, _HEARD)
    names = await keyring.outside({*ids, *(each.row.message_id for each in said)})
    return tuple(
        Heard(
            each.row.message_id,
            each.row.origin,
            each.text,
            number,
            f"{names.get(each.row.turn_id, '')}/{message_of(names.get(each.row.message_id, ''))}",
        )
        for number, each in enumerate(said, 1)
    )


async def _known(connection: Connection, keyring: Keyring, turns: Collection[TurnId]) -> tuple[Known, ...]:
    facts = [
        fact
        for fact in (await memories_of_turns(connection, keyring.scope, turns, _EACH)).values()
        if fact.status == "current" and fact.kind in _KINDS
    ]
    opened = await open_memories(connection, keyring, facts)
    permission = await permission_of(connection, keyring.scope, TokenRole.AGENT)
    return tuple(
        Known(fact.memory_id, body.content, fact.cites)
        for fact in sorted(facts, key=lambda fact: (-fact.importance, fact.memory_id))
        if isinstance(body := opened.get(fact.event_id), MemoryBody) and permission.withheld(fact, body) is None
    )


async def _before(connection: Connection, keyring: Keyring, before: Summary) -> tuple[Line, ...]:
    texts = await readable_items(connection, keyring, before.items, TokenRole.AGENT)
    return tuple(
        Line(SummarySlot(item.slot), texts[item.item_id], item.memories, item.messages)
        for item in before.items
        if item.item_id in texts
    )


async def _constraints(connection: Connection, keyring: Keyring) -> tuple[str, ...]:
    running = [task for task in await recent_tasks(connection, keyring.scope, _TASKS) if task.status == "running"]
    states = [await read_task(connection, keyring.scope, task.task_id) for task in running]
    items = [item for state in states if state is not None for item in state.of(Slot.CONSTRAINT, "stands")]
    return tuple((await readable_items(connection, keyring, items, TokenRole.AGENT)).values())
