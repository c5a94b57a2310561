"""Opening sealed bodies: content, a stone, or an incident; never a guess."""

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from events.envelope import PartRef, StoredEvent, open_part
from events.errors import ScopeError, TamperError
from events.keyring import Keyring
from events.log import fenced, read_bodies
from events.model import Accepted, Audience, EventId, KeyId, NotWritten, TaskStarted, TurnFinalized
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
    for event, _ in refs:
        _refuse_beyond(keyring, event)
    if not refs:
        return {}
    ciphertexts = await read_bodies(connection, {event.event_id for event, _ in refs})
    secrets = await keyring.load(ref.key_id for _, ref in refs)
    stones = await fenced(connection, keyring.scope, {ref.key_id for _, ref in refs})
    opened: dict[tuple[EventId, str], Opened] = {}
    for event, ref in refs:
        place = (event.event_id, ref.name)
        if ref.key_id in stones:
            opened[place] = Shredded(ref.key_id)
        elif place not in ciphertexts:
            opened[place] = tampered(event.event_id, ref.key_id)
        elif ref.key_id not in secrets:
            incidents.error("key_lost", key_id=str(ref.key_id), event_id=str(event.event_id))
            opened[place] = Lost(ref.key_id)
        else:
            try:
                opened[place] = open_part(event, ref, ciphertexts[place], secrets[ref.key_id])
            except TamperError:
                opened[place] = tampered(event.event_id, ref.key_id)
    return opened


def _refuse_beyond(keyring: Keyring, stored: StoredEvent) -> None:
    """Open nothing that the scope does not reach, whichever way it was found: the wall behind every query (R30).

    Raises:
        ScopeError: it is for other readers.
    """
    if keyring.scope.reach is None:
        return
    event = stored.event
    if isinstance(event, Accepted | NotWritten | TurnFinalized):
        audience = event.audience
    elif isinstance(event, TaskStarted):
        audience = Audience(project=event.project)
    else:
        return
    if not keyring.scope.admits(audience):
        raise ScopeError(f"event {stored.event_id} is for other readers of this person; nothing was opened")


def tampered(event_id: EventId, key_id: KeyId) -> Tampered:
    """Report a body that cannot be read for what it should be."""
    incidents.error("body_tampered", key_id=str(key_id), event_id=str(event_id))
    return Tampered(key_id)
