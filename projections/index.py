"""Reading the sealed index bodies: tag, keyed terms and vector of memory versions (ADR 0003)."""

from collections.abc import Sequence

from events.bodies import Lost, Shredded, open_bodies
from events.envelope import StoredEvent
from events.model import EventId, IndexBody, Scope
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
        """Open the index bodies of one person's events; what was forgotten or lost is not in the answer."""
        wanted = [event for event in events if event.part(PART) is not None]
        if not wanted:
            return {}
        keyring = await self._vault.keyring(scope)
        opened = await open_bodies(connection, keyring, ((event, PART) for event in wanted))
        return {
            event_id: IndexBody.model_validate_json(body)
            for (event_id, _), body in opened.items()
            if not isinstance(body, Shredded | Lost)
        }
