"""What may be read of working memory: a text that rests on what is closed to an agent is closed with it (R22, R52)."""

from collections.abc import Collection, Mapping
from uuid import UUID

from events.keyring import Keyring
from events.model import ItemId, MemoryBody, MemoryId, MessageId
from events.postgres import Connection
from projections.changes import fold, touched_by, within
from projections.facts import newer_events, read_memories
from projections.memories import open_memories
from projections.sessions import messages_by_id
from projections.task_state import Item
from projections.working import open_items
from services.access.permission import permission_of, silence_of
from services.access.rights import TokenRole


async def readable_items(
    connection: Connection, keyring: Keyring, items: Collection[Item], reader: TokenRole
) -> Mapping[ItemId, str]:
    """Open what a reader may read of some texts; what was forgotten or is closed is not in the answer.

    A text that rests on what the reader does not reach is closed too.
    """
    resting = [item for item in items if item.memories or item.messages]
    closed: set[UUID] = set()
    if resting and reader is not TokenRole.PERSON:
        closed |= await _closed_memories(connection, keyring, {each for item in resting for each in item.memories})
        closed |= await _closed_messages(connection, keyring, {each for item in resting for each in item.messages})
    wanted = [item for item in items if not closed.intersection((*item.memories, *item.messages))]
    return await open_items(connection, keyring, wanted)


async def _closed_memories(connection: Connection, keyring: Keyring, memories: Collection[MemoryId]) -> set[MemoryId]:
    if not memories:
        return set()
    permission = await permission_of(connection, keyring.scope, TokenRole.AGENT)
    newer, _ = await newer_events(connection, keyring.scope)
    known = await read_memories(connection, keyring.scope, {*memories} | touched_by(newer))
    state = within(fold(known, newer), keyring.scope)
    facts = [fact for fact in state.values() if fact.memory_id in memories and fact.status != "forgotten"]
    opened = await open_memories(connection, keyring, facts)
    beyond = set() if keyring.scope.reach is None else {*memories} - {memory for memory, _ in state}
    return beyond | {
        fact.memory_id
        for fact in facts
        if isinstance(body := opened.get(fact.event_id), MemoryBody) and permission.withheld(fact, body) is not None
    }


async def _closed_messages(connection: Connection, keyring: Keyring, messages: Collection[MessageId]) -> set[MessageId]:
    rows = await messages_by_id(connection, keyring.scope, messages) if messages else []
    beyond = set() if keyring.scope.reach is None else {*messages} - {row.message_id for row in rows}
    silence = await silence_of(connection, keyring, {row.turn_id for row in rows})
    silent = {row.message_id for row in rows if silence.why(row.turn_id, row.message_id, row.origin) is not None}
    return beyond | silent
