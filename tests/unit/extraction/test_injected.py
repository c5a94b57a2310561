"""Recalled memories that come back inside a turn are not said again."""

from datetime import UTC, datetime
from uuid import uuid4

from events.marker import BEGIN, END
from events.model import Message, MessageId, Origin, Role, SessionId, Turn, TurnId, TurnStatus
from services.extraction.extract import extract


def values(content: str) -> set[str]:
    message = Message(message_id=MessageId(uuid4()), role=Role.USER, origin=Origin.USER, content=content)
    turn = Turn(
        turn_id=TurnId(uuid4()),
        session_id=SessionId(uuid4()),
        status=TurnStatus.COMPLETED,
        occurred_at=datetime(2026, 8, 1, tzinfo=UTC),
        messages=(message,),
    )
    return {candidate.value for candidate in extract(turn).candidates}


def test_our_own_context_yields_nothing() -> None:
    """A compiled context pasted into a user message yields no candidate; what stands beside it does."""
    recalled = f"{BEGIN}\n<current>\n- [x@1 preference] 我喜欢北京烤鸭\n- I live in Utrecht\n</current>\n{END}"
    assert values(recalled) == set()
    assert values(f"{recalled}\n我住在苏州。") == {"苏州"}
