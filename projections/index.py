"""Reading the sealed index bodies: tag, keyed terms and vector of memory versions (ADR 0003)."""

from collections.abc import Sequence

from events.bodies import Lost, Shredded, open_bodies
from events.envelope import StoredEvent
from events.log import fenced
from events.model import Accepted, EventId, IndexBody, Scope
from events.postgres import Connection
from events.vault import Vault

PART = "index"


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
        keyring = await self._vault.keyring(scope)
        opened = await open_bodies(connection, keyring, ((event, PART) for event in wanted))
        return {
            event_id: IndexBody.model_validate_json(body)
            for (event_id, _), body in opened.items()
            if not isinstance(body, Shredded | Lost)
        }
