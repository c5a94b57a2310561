"""What was said in some turns, as an agent may read it: without what was forgotten, refused, set aside or blinded."""

from collections.abc import Collection
from dataclasses import dataclass

from events.bodies import Lost, Shredded, open_bodies
from events.keyring import Keyring
from events.log import read_events
from events.model import MessageBody, Origin, TurnId
from events.postgres import Connection
from projections.sessions import MessageRow, message_part, messages_of
from services.access.permission import silence_of


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message with its words."""

    row: MessageRow
    text: str


async def spoken(
    connection: Connection, keyring: Keyring, turns: Collection[TurnId], origins: Collection[Origin]
) -> list[Spoken]:
    """Open the messages of some turns that are of these origins, oldest first."""
    silence = await silence_of(connection, keyring, turns)
    rows = [
        row
        for row in await messages_of(connection, keyring.scope, turns)
        if row.origin in origins and not row.forgotten and silence.why(row.turn_id, row.message_id, row.origin) is None
    ]
    events = await read_events(connection, {row.event_id for row in rows})
    opened = await open_bodies(
        connection, keyring, ((events[row.event_id], message_part(row.message_id)) for row in rows)
    )
    found = []
    for row in rows:
        raw = opened[row.event_id, message_part(row.message_id)]
        if not isinstance(raw, Shredded | Lost):
            found.append(Spoken(row, MessageBody.model_validate_json(raw).content))
    return found
