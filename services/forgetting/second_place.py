"""Tombstones in the second place, so that an old backup cannot bring back what they name (R44)."""

from events.canon import encode
from events.envelope import StoredEvent
from events.model import Tombstoned
from events.place import Place


class Tombstones:
    """One thing a tombstone: ids only, durable when `record` returns, written once."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def record(self, tombstone: StoredEvent) -> None:
        """Write the ids a tombstone names."""
        event = tombstone.event
        assert isinstance(event, Tombstoned), "only tombstones go here"  # noqa: S101 - narrows the type
        self._place.put(
            _name(tombstone),
            encode(
                {
                    "event_id": tombstone.event_id,
                    "keys": event.keys,
                    "memories": event.memories,
                    "messages": event.messages,
                    "position": tombstone.position,
                    "recorded_at": tombstone.recorded_at,
                    "scope": event.scope,
                    "subject_id": tombstone.scope.subject_id,
                    "tenant_id": tombstone.scope.tenant_id,
                }
            ),
        )

    def holds(self, tombstone: StoredEvent) -> bool:
        """Say whether the ids are there."""
        return self._place.get(_name(tombstone)) is not None


def _name(tombstone: StoredEvent) -> str:
    return f"tombstones/{tombstone.event_id}.json"
