"""Turns as they lie in the log, each with the decision about it, without the work of deciding."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from events.envelope import (
    Command,
    DataKey,
    NewEvent,
    Part,
    considered_command,
    finalized_command,
    memory_stream,
    turns_stream,
)
from events.model import (
    Accepted,
    MessageBody,
    MessageHead,
    MessageId,
    Origin,
    Role,
    Scope,
    SessionId,
    TurnConsidered,
    TurnFinalized,
    TurnId,
    TurnStatus,
)
from projections.sessions import message_part

_ROLES = {Origin.USER: Role.USER, Origin.ASSISTANT: Role.ASSISTANT}


@dataclass(frozen=True, slots=True)
class Message:
    """What one of the two said, and the key it is sealed under."""

    message_id: MessageId
    origin: Origin
    content: str
    key: DataKey


@dataclass(frozen=True, slots=True)
class Turn:
    """A completed turn of one person."""

    scope: Scope
    turn_id: TurnId
    session_id: SessionId
    at: datetime
    messages: Sequence[Message]


def commands_of(turn: Turn, decided: Sequence[NewEvent]) -> tuple[Command, Command]:
    """Write a turn down, and what was decided about it at the same moment."""
    finalized = TurnFinalized(
        turn_id=turn.turn_id,
        session_id=turn.session_id,
        status=TurnStatus.COMPLETED,
        messages=tuple(
            MessageHead(message_id=each.message_id, role=_ROLES[each.origin], origin=each.origin)
            for each in turn.messages
        ),
    )
    said = tuple(
        Part(message_part(each.message_id), MessageBody(content=each.content), each.key) for each in turn.messages
    )
    kept = sum(isinstance(new.event, Accepted) for new in decided)
    considered = TurnConsidered(turn_id=turn.turn_id, counts={"accept": kept}, extractor="bench", policy_digest="bench")
    scope, subject = turn.scope, turn.scope.subject_id
    return (
        Command(
            finalized_command(turn.turn_id),
            scope,
            turns_stream(subject),
            None,
            "agent",
            (NewEvent(finalized, turn.at, said),),
        ),
        Command(
            considered_command(turn.turn_id),
            scope,
            memory_stream(subject),
            None,
            "worker:bench",
            (*decided, NewEvent(considered, turn.at)),
        ),
    )
