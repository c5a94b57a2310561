"""Opening sealed bodies: content, a stone, or an incident; never a guess."""

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from events.envelope import PartRef, StoredEvent, open_part
from events.errors import TamperError
from events.log import fenced, read_bodies
from events.model import EventId, KeyId
from events.postgres import Connection
from events.vault import Keyring

incidents = structlog.get_logger("cenotaph.incident")


@dataclass(frozen=True, slots=True)
class Shredded:
    """A body that was forgotten or has expired: the log says so, and the key is gone."""

    key_id: KeyId


@dataclass(frozen=True, slots=True)
class Lost:
    """A body whose key is missing although nothing in the log says it was destroyed: the incident `key_lost`."""

    key_id: KeyId


Opened = bytes | Shredded | Lost


async def open_bodies(
    connection: Connection, keyring: Keyring, wanted: Iterable[tuple[StoredEvent, str]]
) -> dict[tuple[EventId, str], Opened]:
    """Open body parts of one person's events, by event id and part name.

    The fence is read last: a body whose key was fenced meanwhile comes back `Shredded`, whatever was already opened.

    Raises:
        TamperError: a body is missing although its key is not fenced, or it is not the one its envelope names.
    """
    refs: list[tuple[StoredEvent, PartRef]] = [
        (event, ref) for event, name in wanted if (ref := event.part(name)) is not None
    ]
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
            raise TamperError(f"body part {ref.name} of event {event.event_id} is missing without tombstone or expiry")
        elif ref.key_id not in secrets:
            incidents.error("key_lost", key_id=str(ref.key_id), event_id=str(event.event_id))
            opened[place] = Lost(ref.key_id)
        else:
            opened[place] = open_part(event, ref, ciphertexts[place], secrets[ref.key_id])
    return opened
