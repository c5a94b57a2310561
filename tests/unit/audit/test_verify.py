from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events import canon
from events.envelope import Command, DataKey, NewEvent, Part, SealedEvent, memory_stream, seal
from events.merkle import Range, leaf_hash
from events.model import CommandId, KeyId, MemoryId, MessageBody, Reinforced, Scope, SubjectId, TenantId, TurnId
from services.audit.verify import Audit, Body, Chunk, Fault, Head, Row, digest
from tests.unit.events.samples import AT, RECORDED

SCOPE = Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))
STREAM = memory_stream(SCOPE.subject_id)
SAID = MessageBody(content="喜欢北京烤鸭 likes Peking duck")
KEY = DataKey(KeyId(uuid4()), bytes(32))
SIZE = 7


def make() -> tuple[Chunk, Head]:
    """A sealed log of seven events of one stream, each with a body."""
    rows, bodies = [], []
    for position in range(SIZE):
        event = Reinforced(
            candidate_id=MemoryId(uuid4()), memory_id=MemoryId(uuid4()), version=1, turn_id=TurnId(uuid4())
        )
        new = NewEvent(event, AT, (Part("memory", SAID, KEY),))
        command = Command(CommandId(uuid4()), SCOPE, STREAM, position, "worker:test", (new,))
        (one,) = seal(command).events
        rows.append(row(position, command, one))
        bodies += [
            Body(one.event_id, part.name, SCOPE.tenant_id, SCOPE.subject_id, part.key_id, digest(part.ciphertext))
            for part in one.parts
        ]
    tree, nodes = Range().extend(each.leaf for each in rows)
    chunk = Chunk(rows, bodies, frozenset(), {(node.level, node.index): node.hash for node in nodes})
    return chunk, Head(tree.size, tree.frontier, tree.root)


def row(position: int, command: Command, one: SealedEvent) -> Row:
    envelope = one.envelope + canon.trailer(position + 1, RECORDED)
    return Row(
        position=position,
        tenant_id=SCOPE.tenant_id,
        subject_id=SCOPE.subject_id,
        stream=STREAM,
        version=position + 1,
        event_id=one.event_id,
        command_id=command.command_id,
        ordinal=one.ordinal,
        type=one.event.type,
        schema_version=one.event.schema_version,
        occurred_at=AT,
        recorded_at=RECORDED,
        envelope=envelope,
        leaf=leaf_hash(envelope),
    )


CHUNK, HEAD = make()


def check(chunk: Chunk, head: Head = HEAD) -> list[Fault]:
    audit = Audit()
    return audit.take(chunk) + audit.finish(head)


def with_row(position: int, **changes: object) -> Chunk:
    rows = list(CHUNK.rows)
    rows[position] = replace(rows[position], **changes)  # type: ignore[arg-type]  # any column
    return replace(CHUNK, rows=rows)


@given(st.integers(1, SIZE))
def test_a_sound_log_has_no_faults_however_it_is_cut(cut: int) -> None:
    """The chunks a log is read in change nothing."""
    audit = Audit()
    faults = [
        fault
        for start in range(0, SIZE, cut)
        for fault in audit.take(replace(CHUNK, rows=CHUNK.rows[start : start + cut]))
    ]
    assert not faults + audit.finish(HEAD)
    assert (audit.size, audit.bodies, audit.shredded) == (SIZE, SIZE, 0)


@given(st.integers(0, SIZE - 1), st.integers(0, 10_000), st.integers(1, 255))
def test_any_changed_byte_is_found_at_its_position(position: int, at: int, mask: int) -> None:
    """Whatever byte of whatever envelope was changed, the first fault names that position."""
    changed = bytearray(CHUNK.rows[position].envelope)
    changed[at % len(changed)] ^= mask
    assert check(with_row(position, envelope=bytes(changed)))[0].position == position


def test_a_forger_who_mends_the_leaf_is_found_by_the_tree() -> None:
    """An envelope with a new version in it and a matching leaf and column still is not what the tree says."""
    row = CHUNK.rows[3]
    envelope = row.envelope.replace(b"worker:test", b"worker:tesT")
    faults = check(with_row(3, envelope=envelope, leaf=leaf_hash(envelope)))
    assert faults[0] == Fault(
        faults[0].position, "tree node (0, 3), (1, 1), (2, 0) is not the hash of what is below it"
    )
    assert faults[0].position == 3
    assert faults[-1].what == "the Merkle root of these events is not the head's"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tenant_id", uuid4()),
        ("subject_id", uuid4()),
        ("stream", "memory/other"),
        ("version", 9),
        ("event_id", uuid4()),
        ("command_id", uuid4()),
        ("ordinal", 5),
        ("type", "accepted"),
        ("schema_version", 2),
        ("occurred_at", RECORDED),
        ("recorded_at", AT),
    ],
)
def test_a_column_that_contradicts_its_envelope_is_found(column: str, value: object) -> None:
    """Queries go by the columns, so a changed column would mislead them although the hashes hold."""
    faults = check(with_row(2, **{column: value}))
    assert (2, f"column {column} contradicts the envelope") in [(fault.position, fault.what) for fault in faults]


def test_a_missing_position_is_found() -> None:
    """A row that is gone leaves a gap, and the first fault stands at the row behind it."""
    rows = [*CHUNK.rows[:4], *CHUNK.rows[5:]]
    assert check(replace(CHUNK, rows=rows))[0] == Fault(CHUNK.rows[5].position, "the position that follows should be 4")  # type: ignore[arg-type]  # a position is an int


def test_a_cut_off_end_is_found() -> None:
    """The head remembers how long the log was."""
    (fault,) = check(replace(CHUNK, rows=CHUNK.rows[:5]))
    assert fault == Fault(CHUNK.rows[5].position, "the head says 7 events, not 5")  # type: ignore[arg-type]  # as above


def test_a_body_may_be_gone_only_under_a_tombstone() -> None:
    """A missing ciphertext is a fault unless its key is fenced."""
    gone = replace(CHUNK, bodies=CHUNK.bodies[1:])
    assert [fault.position for fault in check(gone)] == [0]
    assert not check(replace(gone, fenced={(SCOPE.tenant_id, KEY.key_id)}))


def test_an_exchanged_body_is_found() -> None:
    """A ciphertext must be the one the envelope names, under the key it names, and be named at all."""
    other = replace(CHUNK.bodies[1], digest=digest(b"other"))
    assert "is not the one" in check(replace(CHUNK, bodies=[CHUNK.bodies[0], other, *CHUNK.bodies[2:]]))[0].what
    other = replace(CHUNK.bodies[1], key_id=uuid4())
    assert "column of body" in check(replace(CHUNK, bodies=[CHUNK.bodies[0], other, *CHUNK.bodies[2:]]))[0].what
    extra = replace(CHUNK.bodies[1], part="extra")
    assert "in no envelope" in check(replace(CHUNK, bodies=[*CHUNK.bodies, extra]))[0].what
