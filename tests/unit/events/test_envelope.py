from dataclasses import replace
from uuid import UUID, uuid4

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from events import canon
from events.envelope import (
    Command,
    DataKey,
    NewEvent,
    Part,
    SealedEvent,
    StoredEvent,
    decrypt,
    encrypt,
    event_id_of,
    open_part,
    seal,
    stored,
)
from events.errors import TamperError
from events.model import CommandId, EventId, IndexBody, KeyId, MessageBody, Scope, TenantId
from tests.unit.events.samples import AT, CONTENT, KEYS, RECORDED, SAMPLES, SCOPE, fixed

ACCEPTED, PARTS = next((event, parts) for event, parts in SAMPLES if event.type == "accepted")
TEXTS = st.text(st.characters(codec="utf-8"), min_size=6).map(lambda text: f"针{text}needle")


def sealed_once(parts: tuple[Part, ...] = PARTS, scope: Scope = SCOPE) -> SealedEvent:
    command = Command(CommandId(uuid4()), scope, "memory/x", 0, "worker:test", (NewEvent(ACCEPTED, AT, parts),))
    (one,) = seal(command).events
    return one


def read_back(one: SealedEvent) -> StoredEvent:
    return stored(one.envelope + canon.trailer(1, RECORDED), 0)


def test_a_part_opens_where_it_was_sealed() -> None:
    """Each part opens with its key and gives the body back."""
    one = sealed_once()
    event = read_back(one)
    for part, original in zip(one.parts, PARTS, strict=True):
        ref = event.part(part.name)
        assert ref is not None
        opened = open_part(event, ref, part.ciphertext, original.key.secret)
        assert type(original.body).model_validate_json(opened) == original.body


@pytest.mark.parametrize(
    "body", [IndexBody(tag=None, terms=(), length=0, model="e5", vector=""), CONTENT.model_copy(update={"key": None})]
)
def test_a_body_without_its_optional_words_comes_back(body: BaseModel) -> None:
    """What is None when it is sealed is None when it is opened."""
    one = sealed_once((Part("memory", body, KEYS[0]),))
    event = read_back(one)
    opened = open_part(event, event.parts[0], one.parts[0].ciphertext, KEYS[0].secret)
    assert type(body).model_validate_json(opened) == body


MOVES = {
    "event": lambda event: replace(event, event_id=EventId(uuid4())),
    "tenant": lambda event: replace(event, scope=Scope(tenant_id=TenantId(uuid4()), subject_id=event.scope.subject_id)),
    "type": lambda event: replace(event, type="not_written"),
    "schema version": lambda event: replace(event, schema_version=event.schema_version + 1),
}


@pytest.mark.parametrize("move", MOVES)
def test_a_ciphertext_cannot_be_moved_to_another_place(move: str) -> None:
    """Bound to tenant, event, type and version: at any other place it does not open, even with key and digest."""
    one = sealed_once()
    event = MOVES[move](read_back(one))
    with pytest.raises(TamperError):
        open_part(event, event.parts[0], one.parts[0].ciphertext, KEYS[2].secret)


def test_a_ciphertext_cannot_be_moved_to_another_part_or_key() -> None:
    """Part name and key id are bound too."""
    one = sealed_once()
    event = read_back(one)
    for moved in (replace(event.parts[0], name="index"), replace(event.parts[0], key_id=KeyId(uuid4()))):
        with pytest.raises(TamperError):
            open_part(event, moved, one.parts[0].ciphertext, KEYS[2].secret)


def test_the_ciphertext_of_another_part_is_found_out() -> None:
    """Another part's ciphertext is not the one the envelope names, although key and event are the same."""
    one = sealed_once()
    event = read_back(one)
    with pytest.raises(TamperError, match="not the one its envelope names"):
        open_part(event, event.parts[0], one.parts[1].ciphertext, KEYS[2].secret)


def test_a_wrong_key_does_not_open() -> None:
    """Without the key there is no content, and the error says nothing of it."""
    one = sealed_once()
    event = read_back(one)
    with pytest.raises(TamperError) as caught:
        open_part(event, event.parts[0], one.parts[0].ciphertext, bytes(31) + b"\x01")
    assert "烤鸭" not in str(caught.value)


@given(st.data())
def test_one_flipped_bit_is_found(data: st.DataObject) -> None:
    """A flipped bit anywhere in nonce, ciphertext or tag does not open, digest checked or not."""
    one = sealed_once()
    event, original = read_back(one), one.parts[0].ciphertext
    bit = data.draw(st.integers(0, len(original) * 8 - 1))
    flipped = bytearray(original)
    flipped[bit // 8] ^= 1 << bit % 8
    with pytest.raises(TamperError):
        open_part(event, event.parts[0], bytes(flipped), KEYS[2].secret)
    bound = f"{SCOPE.tenant_id}|{one.event_id}|accepted|{event.schema_version}|memory|{KEYS[2].key_id}".encode()
    assert decrypt(KEYS[2].secret, original, bound)
    with pytest.raises(TamperError):
        decrypt(KEYS[2].secret, bytes(flipped), bound)


@given(st.binary(max_size=27))
def test_too_few_bytes_are_tampering(short: bytes) -> None:
    """A ciphertext without room for nonce and tag is tampering, not a crash."""
    with pytest.raises(TamperError):
        decrypt(bytes(32), short, b"")


@given(TEXTS)
def test_nothing_said_is_in_the_envelope(text: str) -> None:
    """No encoding of what was said is in the envelope or the ciphertext: it stands in the sealed part alone."""
    one = sealed_once((Part("memory", MessageBody(content=text), DataKey(KeyId(uuid4()), bytes(32))),))
    for needle in (text.encode(), orjson.dumps(text)[1:-1], text.encode().hex().encode(), "针".encode(), b"needle"):
        assert needle not in one.envelope
        assert needle not in one.parts[0].ciphertext


@given(st.binary(max_size=60), st.binary(max_size=20))
def test_what_is_encrypted_decrypts_and_never_looks_the_same(plaintext: bytes, bound: bytes) -> None:
    """Nonces are fresh: two ciphertexts of one text differ, both open."""
    key = bytes(range(32))
    one, two = encrypt(key, plaintext, bound), encrypt(key, plaintext, bound)
    assert one != two
    assert decrypt(key, one, bound) == decrypt(key, two, bound) == plaintext


def test_a_repeated_command_has_the_same_event_ids() -> None:
    """Event ids derive from command id and ordinal only."""
    command = CommandId(fixed(77))
    assert event_id_of(command, 0) == event_id_of(command, 0) != event_id_of(command, 1)


@pytest.mark.parametrize("field", ["tenant_id", "event_id", "parts", "data", "occurred_at", "type"])
@pytest.mark.parametrize("wrong", [None, 7, [{}], True])
def test_an_envelope_with_a_wrong_field_is_tampering(field: str, wrong: object) -> None:
    """A field that is missing or of a wrong form is reported as tampering."""
    document, version, at = canon.decode(sealed_once().envelope + canon.trailer(1, RECORDED))
    for changed in ({**document, field: wrong}, {key: value for key, value in document.items() if key != field}):
        with pytest.raises(TamperError):
            stored(canon.encode(changed) + canon.trailer(version, at), 0)


def test_the_secret_of_a_key_is_never_shown() -> None:
    """A data key's repr has its id only."""
    key = DataKey(KeyId(UUID(int=1)), b"very secret, very secret, secret")
    assert "secret, very" not in repr(key)
