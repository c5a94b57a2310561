import base64
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from events import canon
from events.envelope import Command, DataKey, NewEvent, Part, SealedEvent, memory_stream, seal
from events.merkle import Range, leaf_hash
from events.model import CommandId, ErasureVerified, EventId, KeyId, MemoryId, MessageBody, Reinforced, TurnId
from services.audit.evidence import Mark, Source
from services.audit.faults import Fault, Faults, Kind
from services.audit.rows import Body, Chunk, Head, Row, Stores, digest
from services.audit.verify import Audit
from tests.unit.events.samples import AT, RECORDED, SCOPE

STREAM = memory_stream(SCOPE.subject_id)
SAID = MessageBody(content="喜欢北京烤鸭 likes Peking duck")
KEY = DataKey(KeyId(uuid4()), bytes(32))
SIZE = 7


def sealed(version: int, event: Reinforced | ErasureVerified, *parts: Part) -> SealedEvent:
    command = Command(CommandId(uuid4()), SCOPE, STREAM, version, "worker:test", (NewEvent(event, AT, parts),))
    (one,) = seal(command).events
    return one


def row(position: int, one: SealedEvent) -> Row:
    envelope = one.envelope + canon.trailer(position + 1, RECORDED)
    columns: dict[str, object] = {
        "tenant_id": SCOPE.tenant_id,
        "subject_id": SCOPE.subject_id,
        "stream": STREAM,
        "version": position + 1,
        "event_id": one.event_id,
        "ordinal": one.ordinal,
        "type": one.event.type,
        "schema_version": one.event.schema_version,
        "occurred_at": AT,
        "recorded_at": RECORDED,
        "leaf": leaf_hash(envelope),
    }
    return Row(position, envelope, columns)


def make() -> tuple[Chunk, Head]:
    """A sealed log of seven events of one stream, each with a body."""
    rows, bodies = [], []
    for position in range(SIZE):
        ids = MemoryId(uuid4()), MemoryId(uuid4()), TurnId(uuid4())
        event = Reinforced(candidate_id=ids[0], memory_id=ids[1], version=1, turn_id=ids[2])
        one = sealed(position, event, Part("memory", SAID, KEY))
        rows.append(row(position, one))
        bodies += [
            Body(one.event_id, part.name, SCOPE.tenant_id, SCOPE.subject_id, part.key_id, digest(part.ciphertext))
            for part in one.parts
        ]
    return chunk_of(rows, bodies)


def chunk_of(rows: list[Row], bodies: list[Body]) -> tuple[Chunk, Head]:
    tree, nodes = Range().extend(leaf_hash(each.envelope) for each in rows)
    chunk = Chunk(len(rows), rows, {(node.level, node.index): node.hash for node in nodes}, Stores(bodies))
    return chunk, Head(tree.size, tree.frontier, tree.root)


CHUNK, HEAD = make()


def check(chunk: Chunk, head: Head = HEAD, marks: tuple[Mark, ...] = ()) -> list[Fault]:
    faults = Faults()
    audit = Audit(marks, faults)
    audit.take(chunk)
    audit.finish(head)
    return faults.in_order()


def with_row(position: int, envelope: bytes | None = None, **columns: object) -> Chunk:
    rows = list(CHUNK.rows)
    old = rows[position]
    rows[position] = Row(position, envelope or old.envelope, {**(old.columns or {}), **columns})
    return replace(CHUNK, rows=rows)


@given(st.integers(1, SIZE))
def test_a_sound_log_has_no_faults_however_it_is_cut(cut: int) -> None:
    """The chunks a log is read in change nothing."""
    faults = Faults()
    audit = Audit(
        (Mark(3, Range().extend(leaf_hash(r.envelope) for r in CHUNK.rows[:3])[0].root, Source.PLACE),), faults
    )
    for start in range(0, SIZE, cut):
        end = min(start + cut, SIZE)
        audit.take(replace(CHUNK, end=end, rows=CHUNK.rows[start:end]))
    audit.finish(HEAD)
    assert faults.in_order() == []
    assert (audit.size, audit.bodies, audit.shredded, audit.independent) == (SIZE, SIZE, 0, 3)


@given(st.integers(0, SIZE - 1), st.integers(0, 10_000), st.integers(1, 255), st.booleans())
def test_any_changed_byte_is_found_at_its_position(position: int, at: int, mask: int, mended: bool) -> None:
    """Whatever byte of whatever envelope was changed, leaf mended or not, the first fault names that position."""
    changed = bytearray(CHUNK.rows[position].envelope)
    changed[at % len(changed)] ^= mask
    columns = {"leaf": leaf_hash(bytes(changed))} if mended else {}
    fault = check(with_row(position, bytes(changed), **columns))[0]
    assert (fault.kind, fault.position) == (Kind.CHANGED, position)


@pytest.mark.parametrize("column", sorted(CHUNK.rows[0].columns or {}))
def test_a_column_that_contradicts_its_envelope_is_found(column: str) -> None:
    """Queries go by the columns, so a changed column would mislead them although the hashes hold."""
    (fault,) = check(with_row(2, **{column: None}))
    assert (fault.kind, fault.position) == (Kind.COLUMN, 2)
    assert f"column {column}" in fault.what


def test_an_envelope_in_another_form_is_found() -> None:
    """The same document written otherwise is not canonical, though it was sealed like that."""
    for envelope in (
        b'{"type": "x"}' + bytes(16),
        b"nonsense",
        CHUNK.rows[0].envelope.replace(b',"type"', b', "type"'),
    ):
        chunk, head = chunk_of([Row(0, envelope)], [])
        assert [fault.kind for fault in check(chunk, head) if fault.kind is not Kind.BODY_MISSING] == [Kind.FORM]


def test_a_missing_position_is_named_itself() -> None:
    """A row that is gone is named at its own position, and the tree behind it is still checked."""
    gone = replace(CHUNK, rows=[*CHUNK.rows[:4], *CHUNK.rows[5:]])
    assert [(fault.kind, fault.position) for fault in check(gone)] == [(Kind.MISSING, 4), (Kind.ORDER, 5)]


def test_a_body_may_be_gone_only_under_a_tombstone() -> None:
    """A missing ciphertext is a fault unless a tombstone really names its key."""
    stores = Stores((CHUNK.stores or Stores()).bodies[1:])
    assert [(each.kind, each.position) for each in check(replace(CHUNK, stores=stores))] == [(Kind.BODY_MISSING, 0)]
    named = replace(stores, stones={(SCOPE.tenant_id, KEY.key_id)})
    assert check(replace(CHUNK, stores=named)) == []
    fenced_only = replace(stores, fences={(SCOPE.tenant_id, KEY.key_id)})
    assert check(replace(CHUNK, stores=fenced_only))[0].kind is Kind.BODY_MISSING


def test_an_exchanged_body_is_found() -> None:
    """A ciphertext must be the one the envelope names, under the key it names, and be named at all."""
    bodies = list((CHUNK.stores or Stores()).bodies)
    for other, kind in (
        (replace(bodies[1], digest=digest(b"other")), Kind.BODY_CHANGED),
        (replace(bodies[1], key_id=uuid4()), Kind.COLUMN),
    ):
        changed = Stores([bodies[0], other, *bodies[2:]])
        assert [(each.kind, each.position) for each in check(replace(CHUNK, stores=changed))] == [(kind, 1)]
    extra = Stores([*bodies, replace(bodies[1], part="extra")])
    assert [(each.kind, each.position) for each in check(replace(CHUNK, stores=extra))] == [(Kind.BODY_UNKNOWN, 1)]


def test_a_receipt_must_hold() -> None:
    """A deletion receipt is checked with the key it names; a statement that was not signed is named."""
    private = Ed25519PrivateKey.generate()
    statement = '{"decision":"deletion_propagated"}'
    for signed, wrong in ((statement, []), (statement + " ", [Kind.RECEIPT])):
        event = ErasureVerified(
            tombstone=EventId(uuid4()),
            decision="deletion_propagated",
            statement=statement,
            signature=base64.b64encode(private.sign(signed.encode())).decode(),
            signing_key=base64.b64encode(private.public_key().public_bytes_raw()).decode(),
        )
        chunk, head = chunk_of([row(0, sealed(0, event))], [])
        assert [fault.kind for fault in check(chunk, head)] == wrong


def test_of_very_many_faults_the_first_are_kept_and_all_are_counted() -> None:
    """A log that is wrong everywhere does not fill the memory."""
    faults = Faults(most=3)
    for position in range(10):
        faults.add(Kind.CHANGED, 9 - position, "changed")
    assert [fault.position for fault in faults.in_order()] == [7, 8, 9]
    assert faults.total == 10


def test_time_of_a_row_matters_to_the_microsecond() -> None:
    """The database's half of the envelope is compared exactly."""
    later = RECORDED + timedelta(microseconds=1)
    assert [fault.kind for fault in check(with_row(3, recorded_at=later))] == [Kind.COLUMN]
