"""Tombstones outside the database."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from events.errors import TamperError
from events.model import KeyId, MemoryId, MessageId, Tombstoned
from events.place import Folder
from services.forgetting.second_place import Tombstones
from tests.unit.forgetting.make import SCOPE, stored


def test_a_tombstone_is_recorded_once_with_its_ids(tmp_path: Path) -> None:
    """Twenty that record the same at once leave one complete file of ids and nothing half-written."""
    event = Tombstoned(memories=(MemoryId(uuid4()),), messages=(MessageId(uuid4()),), keys=(KeyId(uuid4()),))
    tombstone, place = stored(event, position=3), Tombstones(Folder(tmp_path))
    assert not place.holds(tombstone.event_id)
    with ThreadPoolExecutor(20) as threads:
        list(threads.map(lambda _: place.record(tombstone), range(20)))
    assert place.holds(tombstone.event_id)
    (file,) = (tmp_path / "tombstones").iterdir()
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["data"]["memories"] == [str(event.memories[0])]
    assert found["data"]["keys"] == [str(event.keys[0])]
    assert found["data"]["messages"] == [str(event.messages[0])]
    assert (found["position"], found["subject_id"]) == (3, str(SCOPE.subject_id))


def test_a_recorded_tombstone_can_be_appended_again(tmp_path: Path) -> None:
    """What is read back is the same event for the same person and stream."""
    event = Tombstoned(memories=(MemoryId(uuid4()),), messages=(), keys=(KeyId(uuid4()),), topics=("ab" * 32,))
    tombstone, place = stored(event, position=3), Tombstones(Folder(tmp_path))
    place.record(tombstone)
    ((event_id, command),) = place.commands()
    assert event_id == tombstone.event_id
    assert (command.scope, command.stream, command.expected) == (SCOPE, tombstone.stream, None)
    assert [new.event for new in command.events] == [event]


def test_a_tombstone_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """Whoever restores learns of it, and does not pass it by."""
    Folder(tmp_path).put("tombstones/x.json", b"{}")
    with pytest.raises(TamperError):
        list(Tombstones(Folder(tmp_path)).commands())
