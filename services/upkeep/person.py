"""One person's memory as a job sees it: the whole stream, folded, at one version. Envelopes only."""

from collections.abc import Collection
from dataclasses import dataclass

from events.envelope import StoredEvent, memory_stream
from events.log import read_stream
from events.model import Accepted, KeyId, MemoryId, NotWritten, Resolved, Scope
from events.postgres import Database
from projections.changes import CURRENT, Fact, State, absorbed, fold, together


@dataclass(frozen=True)
class Person:
    """What is known of a person at one version of the memory stream."""

    stream: list[StoredEvent]
    state: State

    @property
    def version(self) -> int:
        """The version of the stream."""
        return self.stream[-1].version if self.stream else 0

    @property
    def current(self) -> list[Fact]:
        """What agents are given, but for what the person set aside: nothing happens to that (R22)."""
        return [fact for fact in self.state.values() if fact.status in CURRENT and not fact.suspended]

    def whole(self, memories: Collection[MemoryId]) -> tuple[set[MemoryId], list[KeyId]]:
        """Return some memories with what was confirmed or merged into them, and the keys of all their versions."""
        ids = {each for memory in memories for each in together(self.stream, memory)}
        for stored in self.stream:
            if isinstance(event := stored.event, Resolved) and event.decision == "confirmed":
                ids |= {*event.settled} if event.memory_id in ids else set()
        taken = absorbed(self.stream)
        ids |= {each for memory in ids for each in taken.get(memory, ())}
        keys: dict[KeyId, None] = {}
        for stored in self.stream:
            event = stored.event
            own = (isinstance(event, Accepted) and event.memory_id in ids) or (
                isinstance(event, NotWritten) and event.candidate_id in ids
            )
            if own:
                keys |= dict.fromkeys(part.key_id for part in stored.parts)
        return ids, list(keys)


async def read_person(database: Database, scope: Scope) -> Person:
    """Read one person's stream to its end.

    Args:
        database: a pool that may read all persons.
        scope: whose.
    """
    async with database.connection() as connection:
        stream = await read_stream(connection, scope, memory_stream(scope.subject_id))
    return Person(stream, fold({}, stream))
