"""Opening a stored turn as an extractor sees it."""

from collections.abc import Sequence
from datetime import datetime

from events.bodies import Lost, Shredded, open_bodies
from events.envelope import StoredEvent
from events.keyring import Keyring
from events.log import read_events
from events.model import Message, MessageBody, Origin, SessionId, Turn, TurnFinalized, TurnId, TurnStatus
from events.postgres import Connection
from projections.sessions import message_part, messages_of, recent_turns
from services.extraction.anaphora import opens_by_taking_back, points_back

_CHAIN = 8  # how many corrections of corrections are followed back
_REACH = _CHAIN + 2  # turns of the session that are looked at for those before: later ones may have come since


async def open_turn(connection: Connection, keyring: Keyring, stored: StoredEvent, event: TurnFinalized) -> Turn:
    """Open a turn as the extractor sees it: without what was forgotten; only a completed turn says anything."""
    messages: list[Message] = []
    if event.status is TurnStatus.COMPLETED:
        opened = await open_bodies(connection, keyring, ((stored, part.name) for part in stored.parts))
        for head in event.messages:
            body = opened[stored.event_id, message_part(head.message_id)]
            if not isinstance(body, Shredded | Lost):
                content = MessageBody.model_validate_json(body).content
                messages.append(
                    Message(message_id=head.message_id, role=head.role, origin=head.origin, content=content)
                )
    return Turn(
        turn_id=event.turn_id,
        session_id=event.session_id,
        status=event.status,
        occurred_at=stored.said_at,
        messages=tuple(messages),
        before=await _said_before(connection, keyring, event.session_id, stored.said_at, messages),
    )


async def _said_before(
    connection: Connection, keyring: Keyring, session: SessionId, said_at: datetime, messages: Sequence[Message]
) -> tuple[Message, ...]:
    """Open what the person said last before this turn, if this may point back to it and it was not forgotten.

    What takes something back is nothing without that, so what was said before it comes with it, oldest first. The
    session store may lag; then nothing is found, and what points back is dropped.
    """
    if not any(each.origin is Origin.USER and points_back(each.content) for each in messages):
        return ()
    turns = await recent_turns(connection, keyring.scope, session, _REACH)
    found: list[Message] = []
    for turn in reversed([turn for turn in turns if turn.occurred_at < said_at][-_CHAIN:]):
        said = await _last_said(connection, keyring, turn.turn_id)
        if said is None:
            break
        found.append(said)
        if not opens_by_taking_back(said.content):
            break
    return tuple(reversed(found))


async def _last_said(connection: Connection, keyring: Keyring, turn: TurnId) -> Message | None:
    rows = await messages_of(connection, keyring.scope, [turn])
    said = [row for row in rows if row.origin is Origin.USER and not row.forgotten][-1:]
    events = await read_events(connection, [row.event_id for row in said])
    opened = await open_bodies(
        connection, keyring, ((events[row.event_id], message_part(row.message_id)) for row in said)
    )
    for row in said:
        body = opened[row.event_id, message_part(row.message_id)]
        if not isinstance(body, Shredded | Lost):
            content = MessageBody.model_validate_json(body).content
            return Message(message_id=row.message_id, role=row.role, origin=row.origin, content=content)
    return None
