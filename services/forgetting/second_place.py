"""The second place: tombstones outside the database, so that an old backup cannot bring back what they name (R44)."""

import os
from pathlib import Path
from uuid import uuid4

from events.canon import encode
from events.envelope import StoredEvent
from events.model import Tombstoned


class Directory:
    """A folder with one file a tombstone: ids only, durable when `record` returns, written once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "tombstones"

    def record(self, tombstone: StoredEvent) -> None:
        """Write the ids a tombstone names."""
        event = tombstone.event
        assert isinstance(event, Tombstoned), "only tombstones go here"  # noqa: S101 - narrows the type
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{tombstone.event_id}.json"
        temporary = path.with_suffix(f".{uuid4()}.tmp")  # two may record the same at once
        with temporary.open("wb") as file:
            file.write(
                encode(
                    {
                        "event_id": tombstone.event_id,
                        "keys": event.keys,
                        "memories": event.memories,
                        "messages": event.messages,
                        "position": tombstone.position,
                        "recorded_at": tombstone.recorded_at,
                        "subject_id": tombstone.scope.subject_id,
                        "tenant_id": tombstone.scope.tenant_id,
                    }
                )
            )
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def holds(self, tombstone: StoredEvent) -> bool:
        """Say whether the ids are there."""
        return (self._folder / f"{tombstone.event_id}.json").exists()
