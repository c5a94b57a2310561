"""Tombstones outside the database."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

from events.model import KeyId, MemoryId, MessageId, Tombstoned
from events.place import Folder
from services.forgetting.second_place import Tombstones
from tests.unit.forgetting.make import SCOPE, stored


def test_a_tombstone_is_recorded_once_with_its_ids(tmp_path: Path) -> None:
    """Twenty that record the same at once leave one complete file of ids and nothing half-written."""
    event = Tombstoned(memories=(MemoryId(uuid4()),), messages=(MessageId(uuid4()),), keys=(KeyId(uuid4()),))
    tombstone, place = stored(event, position=3), Tombstones(Folder(tmp_path))
    assert not place.holds(tombstone)
    with ThreadPoolExecutor(20) as threads:
        list(threads.map(lambda _: place.record(tombstone), range(20)))
    assert place.holds(tombstone)
    (file,) = (tmp_path / "tombstones").iterdir()
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["memories"] == [str(event.memories[0])]
    assert found["keys"] == [str(event.keys[0])]
    assert found["messages"] == [str(event.messages[0])]
    assert (found["position"], found["subject_id"]) == (3, str(SCOPE.subject_id))
