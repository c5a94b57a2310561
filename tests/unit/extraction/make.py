"""Turns of one message, and what is extracted from them."""

from datetime import datetime, timedelta, timezone
from uuid import uuid4

from events.model import Candidate, Message, MessageId, Origin, Role, SessionId, Turn, TurnId, TurnStatus
from services.extraction.extract import Extraction, extract

SHANGHAI = timezone(timedelta(hours=8))
FRIDAY = datetime(2026, 7, 10, 23, 30, tzinfo=SHANGHAI)


def a_turn(content: str, *, at: datetime = FRIDAY, status: TurnStatus = TurnStatus.COMPLETED) -> Turn:
    """Make a turn of one message of the person."""
    message = Message(message_id=MessageId(uuid4()), role=Role.USER, origin=Origin.USER, content=content)
    return Turn(
        turn_id=TurnId(uuid4()), session_id=SessionId(uuid4()), status=status, occurred_at=at, messages=(message,)
    )


def extracted(content: str) -> Extraction:
    """Extract from one message."""
    return extract(a_turn(content))


def claims(content: str) -> list[Candidate]:
    """Return the candidates of one message."""
    return list(extracted(content).candidates)
