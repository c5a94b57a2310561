"""The content of memory versions: facts say which there are, their bodies say what they hold."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from events.bodies import Lost, Opened, Shredded, open_parts, tampered
from events.keyring import Keyring
from events.model import MEMORY_PART, EventId, IndexBody, KeyId, MemoryBody
from events.postgres import Connection
from projections.briefs import Brief
from projections.changes import Fact
from projections.index import PART as INDEX
from projections.index import index_bodies, vector_of


async def open_memories(
    connection: Connection, keyring: Keyring, facts: Iterable[Fact]
) -> dict[EventId, MemoryBody | Shredded | Lost]:
    """Open the content of memory versions of one person, by the event that brought them."""
    opened = await open_parts(connection, keyring, {fact.event_id for fact in facts}, MEMORY_PART)
    return {event_id: _read(body, event_id, ref.key_id) for event_id, (ref, body) in opened.items()}


async def open_vectors(
    connection: Connection, keyring: Keyring, facts: Iterable[Fact], model: str
) -> dict[EventId, NDArray[np.float32]]:
    """Open the vectors of memory versions of one person, by their events; those of another model are left out."""
    bodies = await open_index(connection, keyring, facts)
    return {event_id: vector_of(body) for event_id, body in bodies.items() if body.model == model}


async def open_index(
    connection: Connection, keyring: Keyring, facts: Iterable[Fact | Brief]
) -> dict[EventId, IndexBody]:
    """Open what the indexes got of memory versions of one person, by their events."""
    opened = await open_parts(connection, keyring, {fact.event_id for fact in facts}, INDEX)
    return index_bodies({(event_id, INDEX): body for event_id, (_, body) in opened.items()})


def _read(body: Opened, event_id: EventId, key_id: KeyId) -> MemoryBody | Shredded | Lost:
    if isinstance(body, Shredded | Lost):
        return body
    try:
        return MemoryBody.model_validate_json(body)
    except ValidationError:
        return tampered(event_id, key_id)
