"""Opening a stored turn as an extractor sees it."""

from events.bodies import Lost, Shredded, open_bodies
from events.envelope import StoredEvent
from events.keyring import Keyring
from events.model import Message, MessageBody, Turn, TurnFinalized, TurnStatus
from events.postgres import Connection
from projections.sessions import message_part


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
    )
