from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from events import canon
from events.envelope import Part, open_part, stored
from events.lift import TODAY
from events.model import EVENT_TYPES, Event
from tests.unit.events.samples import AT, GOLDEN, RECORDED, SAMPLES, SCOPE, document, kinds, path_of, shape

FILES = sorted(GOLDEN.glob("*.json"))
PARTS: dict[str, type[BaseModel]] = {kind: cls for _, parts in SAMPLES for kind, cls in kinds(parts).items()}
CHANGED = """
{what} changed its fields, but keeps its schema_version. What was stored before must stay readable (R7), so:
1. leave {file} as it is;
2. give the event class the next schema_version in events/model.py;
3. add the step {step} to STEPS in events/lift.py, a pure function from the old dict to the new one;
4. write the golden file of the new version: python -m tests.unit.events.samples
"""


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = orjson.loads(path.read_bytes())
    return loaded


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: f"{kind[0]}_v{kind[1]}")
def test_every_event_type_has_a_golden_file(kind: tuple[str, int]) -> None:
    """Every type of today has a sample, and the golden file of its version is written."""
    assert kind in {(event.type, event.schema_version) for event, _ in SAMPLES}, "add it to SAMPLES"
    assert path_of(*kind).exists(), "write it with: python -m tests.unit.events.samples"


@pytest.mark.parametrize(("event", "parts"), SAMPLES, ids=[event.type for event, _ in SAMPLES])
def test_no_event_changes_its_fields_without_a_new_version(event: Event, parts: tuple[Part, ...]) -> None:
    """The golden file holds the fields of an event and of its sealed parts for ever; the message says what to do."""
    kind = (event.type, event.schema_version)
    golden, told = load(path_of(*kind)), {"file": path_of(*kind).name, "step": kind}
    assert shape(type(event)) == golden["shape"], CHANGED.format(what=f"{event.type} v{event.schema_version}", **told)
    for part, cls in kinds(parts).items():
        what = f"{cls.__name__}, a sealed part of {event.type} v{event.schema_version},"
        assert shape(cls) == golden["parts"][part], CHANGED.format(what=what, **told)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_version_ever_written_is_readable(path: Path) -> None:
    """The stored bytes of every golden file still parse, lift, and open with their keys into a part of today."""
    golden = load(path)
    event = stored(bytes.fromhex(golden["envelope"]), 3)
    assert (event.type, event.schema_version) == (golden["type"], golden["schema_version"])
    assert (event.scope, event.position, event.version) == (SCOPE, 3, 7)
    assert (event.occurred_at, event.recorded_at, event.actor) == (AT, RECORDED, "worker:remember")
    assert event.event.type == golden["type"]
    assert {part.name for part in event.parts} == golden["ciphertexts"].keys()
    for part in event.parts:
        ciphertext = bytes.fromhex(golden["ciphertexts"][part.name])
        opened = open_part(event, part, ciphertext, bytes.fromhex(golden["keys"][str(part.key_id)]))
        assert opened == TODAY.body(
            event.type, event.schema_version, part.name, golden["plaintexts"][part.name].encode()
        )
        PARTS[part.name.partition(":")[0]].model_validate_json(opened)


@pytest.mark.parametrize(("event", "parts"), SAMPLES, ids=[event.type for event, _ in SAMPLES])
def test_today_writes_the_golden_bytes(event: Event, parts: tuple[Any, ...]) -> None:
    """The same event gives the same envelope and ciphertext bytes as the day its golden file was written."""
    golden = load(path_of(event.type, event.schema_version))
    assert document(event, parts) == golden
    document_, version, recorded_at = canon.decode(bytes.fromhex(golden["envelope"]))
    assert canon.encode(document_) + canon.trailer(version, recorded_at) == bytes.fromhex(golden["envelope"])
