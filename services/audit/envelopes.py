"""The checks of one event against what repeats it or hangs on it: columns, bodies, fences, receipts."""

from base64 import b64decode
from collections.abc import Collection, Mapping
from contextlib import suppress
from uuid import UUID

from events.envelope import StoredEvent, stored
from events.errors import TamperError
from events.note import holds
from services.audit.faults import Kind
from services.audit.rows import Body

STONES = frozenset({"tombstoned", "expired"})
"""Types of the events that name what is fenced by `log.append_v1` and removed by `log.remove_bodies_v1`."""


def contradictions(columns: Mapping[str, object], event: StoredEvent, document: Mapping[str, object]) -> list[str]:
    """Name the columns that say something else than the envelope."""
    said: dict[str, object] = {
        "tenant_id": event.scope.tenant_id,
        "subject_id": event.scope.subject_id,
        "stream": event.stream,
        "version": event.version,
        "event_id": event.event_id,
        "command_id": event.command_id,
        "ordinal": document.get("ordinal"),
        "type": event.type,
        "schema_version": event.schema_version,
        "occurred_at": event.occurred_at,
        "recorded_at": event.recorded_at,
    }
    return [name for name, value in said.items() if name in columns and columns[name] != value]


def body_faults(
    event: StoredEvent, bodies: Mapping[str, Body], stones: Collection[tuple[UUID, UUID]]
) -> list[tuple[Kind, str]]:
    """Say what is wrong with the body parts that are there, and which are gone without a stone."""
    faults = [
        (Kind.BODY_UNKNOWN, f"body part {name} is in no envelope")
        for name in bodies.keys() - {part.name for part in event.parts}
    ]
    for part in event.parts:
        body = bodies.get(part.name)
        if body is None:
            tenant = event.scope.tenant_id
            if not any((tenant, each) in stones for each in (part.key_id, event.scope.subject_id, tenant)):
                faults.append(
                    (Kind.BODY_MISSING, f"body part {part.name} is gone and no tombstone or expiry names its key")
                )
        elif body.digest != part.digest:
            faults.append((Kind.BODY_CHANGED, f"body part {part.name} is not the one its envelope names"))
        elif (body.tenant_id, body.subject_id, body.key_id) != (
            event.scope.tenant_id,
            event.scope.subject_id,
            part.key_id,
        ):
            faults.append((Kind.COLUMN, f"a column of body part {part.name} contradicts the envelope"))
    return faults


def fence_faults(event: StoredEvent, fences: Collection[tuple[UUID, UUID]]) -> list[tuple[Kind, str]]:
    """Say how many ids of a stone are not fenced."""
    open_ids = sum((event.scope.tenant_id, target) not in fences for target in targets_of(event))
    return [(Kind.FENCE, f"{open_ids} ids that this stone names are not fenced")] if open_ids else []


def targets_of(event: StoredEvent) -> list[UUID]:
    """Return what a tombstone or an expiry fences: memories, messages and keys, or a whole person or tenant.

    Nothing for any other event.
    """
    if event.type not in STONES:
        return []
    return [*_whole(event), *(target for name in ("memories", "messages", "keys") for target in _ids(event, name))]


def keys_of_stone(envelope: bytes) -> tuple[UUID, list[UUID]] | None:
    """Return tenant and keys a tombstone or an expiry names, or whose it all is; None if the bytes are neither."""
    with suppress(TamperError):
        event = stored(envelope, None)
        if event.type in STONES:
            return event.scope.tenant_id, [*_whole(event), *_ids(event, "keys")]
    return None


def _whole(event: StoredEvent) -> list[UUID]:
    named: dict[object, UUID] = {"person": event.scope.subject_id, "tenant": event.scope.tenant_id}
    scope = event.document.get("scope")
    return [named[scope]] if event.type == "tombstoned" and scope in named else []


def _ids(event: StoredEvent, name: str) -> list[UUID]:
    listed = event.document.get(name)
    with suppress(ValueError, AttributeError, TypeError):
        return [UUID(each) for each in listed] if isinstance(listed, list) else []
    return []


def receipt_holds(document: Mapping[str, object]) -> bool:
    """Check the signature of a deletion receipt with the key it names."""
    statement, signature, key = (document.get(name) for name in ("statement", "signature", "signing_key"))
    if not isinstance(statement, str) or not isinstance(signature, str) or not isinstance(key, str):
        return False
    with suppress(ValueError):
        return holds(b64decode(key), b64decode(signature), statement.encode())
    return False
