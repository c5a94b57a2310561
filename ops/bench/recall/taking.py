"""Letting every read model take in what was just appended, block by block, without opening what was just sealed."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from events.envelope import StoredEvent
from events.log import read_sealed
from events.model import EventId, IndexBody, Position, Scope
from events.postgres import Connection
from events.sealer import Sealer
from ops.composition import Composition
from projections.facts import Facts
from projections.follower import place_of, position_of
from projections.index import IndexReader
from projections.keywords import Keywords
from projections.model import Projection, take
from projections.sessions import Sessions
from projections.tasks import Tasks
from projections.vector_index import VectorIndex

_BLOCK: Final = 5000  # events read at once


class Known(IndexReader):
    """Answers with index bodies that are known because they were made here, as the reader does that opens them."""

    def __init__(self) -> None:
        self.bodies: Mapping[EventId, IndexBody] = {}

    async def read(
        self, connection: Connection, scope: Scope, events: Sequence[StoredEvent]
    ) -> dict[EventId, IndexBody]:
        """Look up the index bodies of some events."""
        del connection, scope
        return {each.event_id: self.bodies[each.event_id] for each in events if each.event_id in self.bodies}


class Taking:
    """Seals the log and brings the read models to its end.

    Each event is read once for all of them; what they do with it, and the position that they note, is their own.
    """

    def __init__(self, composition: Composition) -> None:
        self._known = known = Known()
        self._sealer = Sealer(composition.log("sealer"))
        self._projector = composition.log("projector")
        self._tables: tuple[Projection, ...] = (Facts(known), Keywords(known), Sessions(), Tasks())
        self._vectors = VectorIndex(composition.milvus, known)

    async def seal(self) -> None:
        """Seal everything that was appended."""
        while await self._sealer.seal():
            pass

    async def take(self, made: Mapping[EventId, IndexBody]) -> None:
        """Take in everything that is sealed.

        Args:
            made: the index bodies of what that is, by event.
        """
        self._known.bodies = made
        async with self._projector.connection() as connection:
            position = await position_of(connection, "facts")
            while events := await read_sealed(connection, position, _BLOCK):
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._take(self._tables, events))
                    both.create_task(self._take((self._vectors,), events))
                position = Position(position + len(events))

    async def finish(self) -> None:
        """Write what the vector index still holds in memory to its files."""
        async with self._projector.connection() as connection:
            place = await place_of(connection, self._vectors.name)
        await self._vectors.flush(place)

    async def _take(self, models: Sequence[Projection], events: Sequence[StoredEvent]) -> None:
        async with self._projector.transaction() as connection:
            for model in models:
                await take(model, connection, await place_of(connection, model.name), events)
                await connection.execute(
                    "update read_model.checkpoint set position = $2 where name = $1", model.name, events[-1].position
                )
