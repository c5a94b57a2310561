"""Opening sealed bodies: content, a stone, or an incident; never a guess."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import structlog

from events.envelope import PartRef, StoredEvent, open_part
from events.errors import ScopeError, TamperError
from events.keyring import Keyring
from events.log import fenced, read_bodies, read_parts
from events.model import Accepted, EventId, KeyId, NotWritten, TaskStarted, TurnFinalized
from events.postgres import Connection

incidents = structlog.get_logger("cenotaph.incident")


@dataclass(frozen=True, slots=True)
class Shredded:
    """A body that was forgotten or has expired: the log says so, and the key is gone."""

    key_id: KeyId


@dataclass(frozen=True, slots=True)
class Lost:
    """A body whose key is missing although nothing in the log says it was destroyed: the incident `key_lost`."""

    key_id: KeyId


@dataclass(frozen=True, slots=True)
class Tampered(Lost):
    """A body that is missing although its key is not fenced, or is not what was sealed: the incident `body_tampered`.

    To its readers it is lost like one without a key; the audit names its position.
    """


Opened = bytes | Shredded | Lost


async def open_bodies(
    connection: Connection, keyring: Keyring, wanted: Iterable[tuple[StoredEvent, str]]
) -> dict[tuple[EventId, str], Opened]:
    """Open body parts of one person's events, by event id and part name.

    The fence is read last: a body whose key was fenced meanwhile comes back `Shredded`, whatever was already opened.
    One that cannot be opened is an incident and an answer, so that it hides nothing else.

    Raises:
        ScopeError: one is for other readers of the person; nothing was opened.
    """
    refs: list[tuple[StoredEvent, PartRef]] = [
        (event, ref) for event, name in wanted if (ref := event.part(name)) is not None
    ]
    ciphertexts = await read_bodies(connection, {event.event_id for event, _ in refs}) if refs else {}
    sealed = [(event, ref, ciphertexts.get((event.event_id, ref.name))) for event, ref in refs]
    opened = await _open(connection, keyring, sealed)
    return {(event.event_id, ref.name): body for (event, ref), body in zip(refs, opened, strict=True)}


async def open_parts(
    connection: Connection, keyring: Keyring, event_ids: Collection[EventId], part: str
) -> dict[EventId, tuple[PartRef, Opened]]:
    """Read some events of one person and open the same part of each, as `open_bodies` does; one without is left out.

    Raises:
        ScopeError: one is for other readers of the person; nothing was opened.
    """
    if not event_ids:
        return {}
    sealed = [
        (event, ref, ciphertext)
        for event, ciphertext in await read_parts(connection, event_ids, part)
        if (ref := event.part(part)) is not None
    ]
    opened = await _open(connection, keyring, sealed)
    return {event.event_id: (ref, body) for (event, ref, _), body in zip(sealed, opened, strict=True)}


async def _open(
    connection: Connection, keyring: Keyring, sealed: Sequence[tuple[StoredEvent, PartRef, bytes | None]]
) -> list[Opened]:
    """Open ciphertexts, None for one that is not there; the fence is read last."""
    for event, _, _ in sealed:
        _refuse_beyond(keyring, event)
    if not sealed:
        return []
    secrets = await keyring.load(ref.key_id for _, ref, _ in sealed)
    stones = await fenced(connection, keyring.scope, {ref.key_id for _, ref, _ in sealed})
    opened: list[Opened] = []
    for event, ref, ciphertext in sealed:
        if ref.key_id in stones:
            opened.append(Shredded(ref.key_id))
        elif ciphertext is None:
            opened.append(tampered(event.event_id, ref.key_id))
        elif ref.key_id not in secrets:
            incidents.error("key_lost", key_id=str(ref.key_id), event_id=str(event.event_id))
            opened.append(Lost(ref.key_id))
        else:
            try:
                opened.append(open_part(event, ref, ciphertext, secrets[ref.key_id]))
            except TamperError:
                opened.append(tampered(event.event_id, ref.key_id))
    return opened


def _refuse_beyond(keyring: Keyring, stored: StoredEvent) -> None:
    """Open nothing that the scope does not reach, whichever way it was found: the wall behind every query (R30).

    Raises:
        ScopeError: it is for other readers.
    """
    if keyring.scope.reach is None:
        return
    event = stored.event
    if not isinstance(event, Accepted | NotWritten | TurnFinalized | TaskStarted):
        return
    if not keyring.scope.admits(event.audience):
        raise ScopeError(f"event {stored.event_id} is for other readers of this person; nothing was opened")


def tampered(event_id: EventId, key_id: KeyId) -> Tampered:
    """Report a body that cannot be read for what it should be."""
    incidents.error("body_tampered", key_id=str(key_id), event_id=str(event_id))
    return Tampered(key_id)
