from pathlib import Path
from typing import Any

import orjson
import pytest

from events import canon
from events.envelope import open_part, stored
from events.errors import UnknownEventError
from events.lift import lift
from events.model import EVENT_TYPES, Event
from tests.unit.events.samples import AT, GOLDEN, RECORDED, SAMPLES, SCOPE, document, path_of, shape

FILES = sorted(GOLDEN.glob("*.json"))


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = orjson.loads(path.read_bytes())
    return loaded


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: f"{kind[0]}_v{kind[1]}")
def test_every_event_type_has_a_golden_file_and_keeps_its_shape(kind: tuple[str, int]) -> None:
    """No event class changes its fields without a new schema version: the golden file holds the shape for ever."""
    assert path_of(*kind).exists(), "write it with: python -m tests.unit.events.samples"
    assert shape(EVENT_TYPES[kind]) == load(path_of(*kind))["shape"], "give the changed event a new schema_version"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_version_ever_written_is_readable(path: Path) -> None:
    """The stored bytes of every golden file still parse, lift, and open with their keys."""
    golden = load(path)
    event = stored(bytes.fromhex(golden["envelope"]), 3)
    assert (event.type, event.schema_version) == (golden["type"], golden["schema_version"])
    assert (event.scope, event.position, event.version) == (SCOPE, 3, 7)
    assert (event.occurred_at, event.recorded_at, event.actor) == (AT, RECORDED, "worker:remember")
    assert isinstance(event.event, Event)
    assert {part.name for part in event.parts} == golden["ciphertexts"].keys()
    for part in event.parts:
        opened = open_part(
            event,
            part,
            bytes.fromhex(golden["ciphertexts"][part.name]),
            bytes.fromhex(golden["keys"][str(part.key_id)]),
        )
        assert opened.decode() == golden["plaintexts"][part.name]


@pytest.mark.parametrize(("event", "parts"), SAMPLES, ids=[event.type for event, _ in SAMPLES])
def test_today_writes_the_golden_bytes(event: Event, parts: tuple[Any, ...]) -> None:
    """The same event gives the same envelope and ciphertext bytes as the day its golden file was written."""
    golden = load(path_of(event.type, event.schema_version))
    assert document(event, parts) == golden
    document_, version, recorded_at = canon.decode(bytes.fromhex(golden["envelope"]))
    assert canon.encode(document_) + canon.trailer(version, recorded_at) == bytes.fromhex(golden["envelope"])


def test_an_unknown_event_is_refused_by_name() -> None:
    """A type or version from the future is an error that names it, never a guess."""
    with pytest.raises(UnknownEventError, match="accepted v99"):
        lift("accepted", 99, {})
    with pytest.raises(UnknownEventError, match="dreamt v1"):
        lift("dreamt", 1, {})
