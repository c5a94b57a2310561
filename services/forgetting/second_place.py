"""Tombstones in the second place, so that an old backup cannot bring back what they name (R44)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

import orjson

from events.canon import encode
from events.envelope import Command, NewEvent, StoredEvent, event_id_of
from events.errors import TamperError
from events.lift import TODAY
from events.model import CommandId, EventId, Scope, Tombstoned
from events.place import Place

KIND: Final = "tombstones"
_ACTOR = "restore"


class Tombstones:
    """One thing a tombstone: ids only, durable when `record` returns, written once."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def record(self, tombstone: StoredEvent) -> None:
        """Write the tombstone: all that it says are ids and keyed digests."""
        assert isinstance(tombstone.event, Tombstoned), "only tombstones go here"  # noqa: S101 - narrows the type
        self._place.put(
            _name(tombstone.event_id),
            encode(
                {
                    "command_id": tombstone.command_id,
                    "data": tombstone.document,
                    "event_id": tombstone.event_id,
                    "occurred_at": tombstone.occurred_at,
                    "position": tombstone.position,
                    "recorded_at": tombstone.recorded_at,
                    "schema_version": tombstone.schema_version,
                    "stream": tombstone.stream,
                    "subject_id": tombstone.scope.subject_id,
                    "tenant_id": tombstone.scope.tenant_id,
                }
            ),
        )

    def holds(self, event_id: EventId) -> bool:
        """Say whether a tombstone is there."""
        return self._place.get(_name(event_id)) is not None

    def commands(self) -> Iterator[tuple[EventId, Command]]:
        """Return the id of every tombstone, with a command that appends it again.

        The new one has the old id wherever it was the first event of its command, as those that somebody asked for are.

        Raises:
            TamperError: one cannot be read.
        """
        for name in self._place.names(KIND):
            try:
                found = orjson.loads(self._place.get(name) or b"")
                event_id, command_id = EventId(UUID(found["event_id"])), CommandId(UUID(found["command_id"]))
                yield (
                    event_id,
                    Command(
                        command_id
                        if event_id_of(command_id, 0) == event_id
                        else CommandId(uuid5(event_id, "restored")),
                        Scope.model_validate({key: found[key] for key in ("tenant_id", "subject_id")}),
                        found["stream"],
                        None,
                        _ACTOR,
                        (
                            NewEvent(
                                TODAY.event(Tombstoned.type, found["schema_version"], found["data"]),
                                datetime.fromisoformat(found["occurred_at"]),
                            ),
                        ),
                    ),
                )
            except (KeyError, TypeError, ValueError):
                raise TamperError(f"{name} in the second place is no tombstone; nothing was restored") from None


def _name(event_id: EventId) -> str:
    return f"{KIND}/{event_id}.json"
