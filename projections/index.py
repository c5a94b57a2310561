"""Reading the sealed index bodies: tag, keyed terms and vector of memory versions (ADR 0003)."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from math import isfinite
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from events.bodies import Lost, Opened, Shredded, incidents, open_bodies
from events.envelope import StoredEvent, memory_stream
from events.errors import ErasedError
from events.log import fenced, read_embedded
from events.model import Accepted, Embedded, EventId, IndexBody, Scope, VectorBody
from events.postgres import Connection
from events.vault import Vault

PART = "index"
_MOST = 2**63 - 1


class IndexReader:
    """Opens index bodies for the projections, through a vault role that can only read keys."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def read(
        self, connection: Connection, scope: Scope, events: Sequence[StoredEvent]
    ) -> dict[EventId, IndexBody]:
        """Open the index bodies of one person's events; what was forgotten or lost is not in the answer.

        Nor is a version of a memory that is fenced, even one that was written behind its tombstone.
        """
        wanted = [event for event in events if event.part(PART) is not None]
        if not wanted:
            return {}
        memories = {each.event_id: each.event.memory_id for each in wanted if isinstance(each.event, Accepted)}
        stones = await fenced(connection, scope, set(memories.values()))
        wanted = [event for event in wanted if memories.get(event.event_id) not in stones]
        if not wanted:
            return {}
        try:
            keyring = await self._vault.keyring(scope)
        except ErasedError:
            return {}
        opened = await open_bodies(connection, keyring, ((event, PART) for event in wanted))
        bodies = index_bodies(opened)
        for event in wanted:
            body = opened[event.event_id, PART]
            if event.event_id not in bodies and not isinstance(body, Shredded):
                await connection.execute(
                    "insert into read_model.unreadable values ($1, $2, $3) on conflict do nothing",
                    event.event_id,
                    event.position,
                    "lost" if type(body) is Lost else "tampered",
                )
        return bodies

    async def vectors(
        self, connection: Connection, scope: Scope, accepted: Sequence[StoredEvent], model: str, before: int
    ) -> dict[EventId, NDArray[np.float32]]:
        """Open the vectors of a model that versions of one person have, made with them or later, before a version.

        What was forgotten has none.
        """
        bodies = await self.read(connection, scope, accepted)
        found = {event_id: vector_of(body) for event_id, body in bodies.items() if body.model == model}
        missing = bodies.keys() - found.keys()
        if not missing:
            return found
        later = await read_embedded(connection, scope, memory_stream(scope.subject_id), before)
        wanted = [
            (stored, vector_part(source))
            for stored in later
            if isinstance(event := stored.event, Embedded) and event.model == model
            for source in event.sources
            if source in missing
        ]
        opened = await open_bodies(connection, await self._vault.keyring(scope), wanted)
        for (_, part), raw in opened.items():
            if isinstance(raw, bytes):
                found[_source(part)] = floats(VectorBody.model_validate_json(raw).vector)
        return found


def vector_part(source: EventId) -> str:
    """Name the body part that holds a later vector of a version."""
    return f"vector:{source}"


def _source(part: str) -> EventId:
    return EventId(UUID(part.partition(":")[2]))


def floats(text: str) -> NDArray[np.float32]:
    """Read the bytes of a vector."""
    return np.frombuffer(b64decode(text), dtype="<f4")


def index_bodies(opened: Mapping[tuple[EventId, str], Opened]) -> dict[EventId, IndexBody]:
    """Read opened index bodies; one that is not what it should be is an incident, and left out as if lost."""
    bodies = {}
    for (event_id, _), raw in opened.items():
        if isinstance(raw, Shredded | Lost):
            continue
        try:
            bodies[event_id] = _checked(IndexBody.model_validate_json(raw))
        except ValueError as error:
            incidents.error("body_malformed", event_id=str(event_id), error=type(error).__name__)
    return bodies


def vector_of(body: IndexBody) -> NDArray[np.float32]:
    """Return the vector of an index body."""
    return floats(body.vector)


def _checked(body: IndexBody) -> IndexBody:
    """Return a body whose fields the indexes can take.

    Raises:
        ValueError: a tag is no digest, a term no 63-bit number, or a vector no array of floats.
    """
    bytes.fromhex(body.tag or "")
    vector = vector_of(body)
    # a sum of squares is finite only where every number is, and is made several times faster than each is looked at
    if not all(0 <= term <= _MOST for term in body.terms) or not isfinite(vector @ vector):
        raise ValueError("out of range")
    return body
