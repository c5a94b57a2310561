"""Commands and events on their way into the log and out of it; sealing and opening of body parts.

Every part is AES-256-GCM under a data key of its own: `nonce (12 bytes) ‖ ciphertext ‖ tag`, bound by its associated
data to tenant, event, stored type and version, part name and key, so that a ciphertext cannot be moved (NIST SP
800-38D, R4).
"""

import os
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import BaseModel

from events import canon
from events.errors import TamperError
from events.ids import derived_id, read_id
from events.lift import TODAY
from events.model import (
    CommandId,
    Event,
    EventId,
    KeyId,
    Position,
    Scope,
    SessionId,
    SubjectId,
    TaskId,
    TenantId,
    TurnId,
)

_NONCE_BYTES = 12
_FORMS: dict[str, type] = {
    "actor": str,
    "data": dict,
    "parts": list,
    "schema_version": int,
    "stream": str,
    "type": str,
}


@dataclass(frozen=True, slots=True)
class DataKey:
    """A leased data key: 32 random bytes, known to the vault before anything is sealed with it."""

    key_id: KeyId
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of content to be sealed under its own key."""

    name: str
    body: BaseModel
    key: DataKey


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append, with the parts of its body."""

    event: Event
    occurred_at: datetime
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """Events that are appended together to one stream or not at all.

    `expected` is the version the stream must have (0: it must be new, None: any). `actor` names a role of the system
    (`agent`, `worker:remember`), never a person.
    """

    command_id: CommandId
    scope: Scope
    stream: str
    expected: int | None
    actor: str
    events: tuple[NewEvent, ...]


@dataclass(frozen=True, slots=True)
class SealedPart:
    """A ciphertext as `log.body` stores it."""

    name: str
    key_id: KeyId
    ciphertext: bytes


@dataclass(frozen=True, slots=True)
class SealedEvent:
    """An event as `append_v1` takes it: the writer's half of the envelope and its ciphertexts."""

    event_id: EventId
    ordinal: int
    event: Event
    occurred_at: datetime
    envelope: bytes
    parts: tuple[SealedPart, ...]


@dataclass(frozen=True, slots=True)
class SealedCommand:
    """A command with its events as they are stored: nothing of its bodies is readable any more."""

    command: Command
    events: tuple[SealedEvent, ...]


@dataclass(frozen=True, slots=True)
class PartRef:
    """What the envelope says of a body part."""

    name: str
    key_id: KeyId
    digest: bytes


@dataclass(frozen=True)
class StoredEvent:
    """An event read back from the log. `position` is None until it is sealed."""

    position: Position | None
    scope: Scope
    stream: str
    version: int
    event_id: EventId
    command_id: CommandId
    type: str
    schema_version: int
    occurred_at: datetime
    recorded_at: datetime
    actor: str
    parts: tuple[PartRef, ...]
    document: dict[str, Any] = field(repr=False)

    @cached_property
    def event(self) -> Event:
        """The clear half as an event of today's vocabulary.

        Raises:
            UnknownEventError: this build does not know the type or the version.
            TamperError: the data do not have the form of their version.
        """
        return TODAY.event(self.type, self.schema_version, self.document, self.position)

    @property
    def said_at(self) -> datetime:
        """The event's own time as far as it can be believed: nothing happens after it was recorded."""
        return min(self.occurred_at, self.recorded_at)

    def part(self, name: str) -> PartRef | None:
        """Find a body part by name."""
        return next((part for part in self.parts if part.name == name), None)


def memory_stream(subject: SubjectId) -> str:
    """Name the stream that holds every decision about a person's memories."""
    return f"memory/{subject}"


def turns_stream(subject: SubjectId) -> str:
    """Name the stream that holds a person's finished turns."""
    return f"turns/{subject}"


def receipts_stream(subject: SubjectId) -> str:
    """Name the stream that holds the deletion receipts of a person."""
    return f"receipts/{subject}"


def task_stream(task: TaskId) -> str:
    """Name the stream that holds one task's state."""
    return f"task/{task}"


def summary_stream(session: SessionId) -> str:
    """Name the stream that holds the summaries of a session."""
    return f"summary/{session}"


def event_id_of(command_id: CommandId, ordinal: int) -> EventId:
    """Derive an event id, so that a repeated command repeats its events."""
    return EventId(derived_id(command_id, str(ordinal)))


def finalized_command(turn: TurnId) -> CommandId:
    """Derive the one command that stores a turn."""
    return CommandId(derived_id(turn, "finalized"))


def considered_command(turn: TurnId) -> CommandId:
    """Derive the one command that ends a turn."""
    return CommandId(derived_id(turn, "considered"))


def associated_data(tenant: TenantId, event_id: EventId, event: Event | StoredEvent, part: str, key: KeyId) -> bytes:
    """Build what a ciphertext is bound to."""
    return f"{tenant}|{event_id}|{event.type}|{event.schema_version}|{part}|{key}".encode()


def encrypt(secret: bytes, plaintext: bytes, bound_to: bytes) -> bytes:
    """Seal bytes under a 256-bit key with a fresh random nonce."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(secret).encrypt(nonce, plaintext, bound_to)


def decrypt(secret: bytes, ciphertext: bytes, bound_to: bytes) -> bytes:
    """Open sealed bytes.

    Raises:
        TamperError: key, ciphertext and associated data do not belong together.
    """
    try:
        return AESGCM(secret).decrypt(ciphertext[:_NONCE_BYTES], ciphertext[_NONCE_BYTES:], bound_to)
    except (InvalidTag, ValueError) as error:  # a nonce or a tag that is cut short is a ValueError
        raise TamperError("a sealed body does not open: bytes, key or place were changed") from error


def seal(command: Command) -> SealedCommand:
    """Seal every part of a command and write its envelopes."""
    events = []
    for ordinal, new in enumerate(command.events):
        event_id = event_id_of(command.command_id, ordinal)
        events.append(write_envelope(command, ordinal, event_id, _seal_parts(command.scope.tenant_id, event_id, new)))
    return SealedCommand(command, tuple(events))


def _seal_parts(tenant: TenantId, event_id: EventId, new: NewEvent) -> tuple[SealedPart, ...]:
    return tuple(
        SealedPart(
            part.name,
            part.key.key_id,
            encrypt(
                part.key.secret,
                part.body.model_dump_json().encode(),
                associated_data(tenant, event_id, new.event, part.name, part.key.key_id),
            ),
        )
        for part in new.parts
    )


def write_envelope(command: Command, ordinal: int, event_id: EventId, parts: tuple[SealedPart, ...]) -> SealedEvent:
    """Write the envelope of one event of a command over its sealed parts."""
    new = command.events[ordinal]
    document = {
        "actor": command.actor,
        "command_id": command.command_id,
        "data": new.event.model_dump(mode="json", exclude_none=True),
        "event_id": event_id,
        "occurred_at": new.occurred_at,
        "ordinal": ordinal,
        "parts": [
            {"key_id": part.key_id, "part": part.name, "sha256": sha256(part.ciphertext).hexdigest()} for part in parts
        ],
        "schema_version": new.event.schema_version,
        "stream": command.stream,
        "subject_id": command.scope.subject_id,
        "tenant_id": command.scope.tenant_id,
        "type": new.event.type,
        "v": 1,
    }
    return SealedEvent(event_id, ordinal, new.event, new.occurred_at, canon.encode(document), parts)


def stored(envelope: bytes, position: int | None) -> StoredEvent:
    """Read canonical bytes back into an event; every field comes from the bytes the leaf commits to.

    Raises:
        TamperError: the bytes are not an envelope of a known layout.
    """
    document, version, recorded_at = canon.decode(envelope)
    try:
        for name, form in _FORMS.items():
            if not isinstance(document[name], form):
                raise TamperError("an envelope holds a field of a wrong form")
        return StoredEvent(
            position=None if position is None else Position(position),
            scope=_scope(document["tenant_id"], document["subject_id"]),
            stream=document["stream"],
            version=version,
            event_id=EventId(read_id(document["event_id"])),
            command_id=CommandId(read_id(document["command_id"])),
            type=document["type"],
            schema_version=document["schema_version"],
            occurred_at=datetime.fromisoformat(document["occurred_at"]),
            recorded_at=recorded_at,
            actor=document["actor"],
            parts=tuple(
                PartRef(p["part"], KeyId(read_id(p["key_id"])), bytes.fromhex(p["sha256"])) for p in document["parts"]
            ),
            document=document["data"],
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TamperError("an envelope lacks a field or holds one of a wrong form") from error


@lru_cache(maxsize=1024)
def _scope(tenant: str, subject: str) -> Scope:
    """Read a scope; the events of one person follow each other."""
    return Scope(tenant_id=TenantId(read_id(tenant)), subject_id=SubjectId(read_id(subject)))


def open_part(event: StoredEvent, ref: PartRef, ciphertext: bytes, secret: bytes) -> bytes:
    """Open one body part of a stored event, in the form of today's vocabulary.

    Raises:
        TamperError: the ciphertext is not the one the envelope names, or does not open.
    """
    if sha256(ciphertext).digest() != ref.digest:
        raise TamperError(f"body part {ref.name} of event {event.event_id} is not the one its envelope names")
    plaintext = decrypt(
        secret,
        ciphertext,
        associated_data(event.scope.tenant_id, event.event_id, event, ref.name, ref.key_id),
    )
    return TODAY.body(event.type, event.schema_version, ref.name, plaintext)
