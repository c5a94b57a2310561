"""The content of memory versions: facts say which there are, their bodies say what they hold."""

from collections.abc import Iterable

from events.bodies import Lost, Shredded, open_bodies
from events.log import read_events
from events.model import MEMORY_PART, EventId, MemoryBody
from events.postgres import Connection
from events.vault import Keyring
from projections.changes import Fact


async def open_memories(
    connection: Connection, keyring: Keyring, facts: Iterable[Fact]
) -> dict[EventId, MemoryBody | Shredded | Lost]:
    """Open the content of memory versions of one person, by the event that brought them."""
    events = await read_events(connection, {fact.event_id for fact in facts})
    opened = await open_bodies(connection, keyring, ((event, MEMORY_PART) for event in events.values()))
    return {
        event_id: body if isinstance(body, Shredded | Lost) else MemoryBody.model_validate_json(body)
        for (event_id, _), body in opened.items()
    }
