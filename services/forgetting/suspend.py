"""Setting a memory aside and taking that back (R22): the reversible one beside forgetting; nothing is destroyed."""

from datetime import UTC, datetime
from uuid import uuid4

from events.envelope import Command, NewEvent, memory_stream
from events.log import EventLog
from events.model import CommandId, MemoryId, Resumed, Scope, Suspended
from events.postgres import Database
from projections.changes import LIVING, fold, within
from projections.facts import newer_events, read_memories


class Suspender:
    """Appends suspensions; each holds from its commit on, on every read path (`services/access/permission.py`).

    Args:
        events: the write path.
        reader: a pool under `cenotaph_reader`.
    """

    def __init__(self, events: EventLog, reader: Database) -> None:
        self._events = events
        self._reader = reader

    async def set(self, scope: Scope, memory_id: MemoryId, actor: str, *, suspended: bool) -> bool:
        """Set a living memory aside, or use it again; asking twice changes nothing. False where there is none such."""
        async with self._reader.transaction(scope) as connection:
            newer, _ = await newer_events(connection, scope)
            state = within(fold(await read_memories(connection, scope, {memory_id}), newer), scope)
        facts = [fact for fact in state.values() if fact.memory_id == memory_id]
        if not any(fact.status in LIVING for fact in facts):
            return False
        if all(fact.suspended == suspended for fact in facts):
            return True
        event = (Suspended if suspended else Resumed)(memories=(memory_id,))
        new = NewEvent(event, datetime.now(UTC))
        stream = memory_stream(scope.subject_id)
        await self._events.append(Command(CommandId(uuid4()), scope, stream, None, actor, (new,)))
        return True
