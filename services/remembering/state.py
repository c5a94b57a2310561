"""What is known about a person at this moment: facts ⊕ the events the facts table has not folded yet."""

from collections.abc import Collection
from dataclasses import dataclass

from events.bodies import Lost, Shredded, open_bodies
from events.envelope import StoredEvent
from events.log import read_events
from events.model import EventId, MemoryBody
from events.postgres import Connection
from events.vault import Keyring
from projections.changes import Fact, State, fold, touched
from projections.facts import newer_events, read_living, read_memories

BODY = "memory"
_RECENT = 200  # how many memories a paraphrase without the same tag is looked for in


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of one person as of `version` of the memory stream: asked-for and just-changed memories only."""

    facts: State
    version: int
    newer: tuple[StoredEvent, ...]


async def snapshot(connection: Connection, keyring: Keyring, tags: Collection[bytes]) -> Snapshot:
    """Read the current and held memories with one of these tags, the most recent others, and everything newer."""
    scope = keyring.scope
    newer, version = await newer_events(connection, scope)
    living = await read_living(connection, scope, tags, _RECENT)
    changed = set().union(*(touched(event) for event in newer)) if newer else set()
    known = living | await read_memories(connection, scope, changed)
    return Snapshot(fold(known, newer), version, tuple(newer))


async def open_memories(
    connection: Connection, keyring: Keyring, facts: Collection[Fact]
) -> dict[EventId, MemoryBody | Shredded | Lost]:
    """Open the content of memory versions, by the event that brought them."""
    events = await read_events(connection, {fact.event_id for fact in facts})
    opened = await open_bodies(connection, keyring, ((event, BODY) for event in events.values()))
    return {
        event_id: body if isinstance(body, Shredded | Lost) else MemoryBody.model_validate_json(body)
        for (event_id, _), body in opened.items()
    }
