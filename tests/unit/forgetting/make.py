"""Events as the log would return them, with a key for each part."""

from datetime import UTC, datetime
from uuid import uuid4

from events.envelope import PartRef, StoredEvent
from events.model import (
    Accepted,
    Assertion,
    CandidateProposed,
    CommandId,
    Event,
    EventId,
    Evidence,
    KeyId,
    Kind,
    MemoryId,
    MessageHead,
    MessageId,
    Origin,
    Position,
    Reinforced,
    Role,
    Scope,
    SessionId,
    SubjectId,
    TenantId,
    TurnFinalized,
    TurnId,
    TurnStatus,
)
from projections.sessions import message_part

SCOPE = Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))
NOW = datetime(2026, 8, 1, tzinfo=UTC)


def stored(event: Event, *parts: str, position: int = 0) -> StoredEvent:
    """Store an event with parts of these names."""
    return StoredEvent(
        position=Position(position),
        scope=SCOPE,
        stream="s",
        version=1,
        event_id=EventId(uuid4()),
        command_id=CommandId(uuid4()),
        type=event.type,
        schema_version=event.schema_version,
        occurred_at=NOW,
        recorded_at=NOW,
        actor="test",
        parts=tuple(PartRef(part, KeyId(uuid4()), b"") for part in parts),
        document=event.model_dump(mode="json", exclude_none=True),
    )


def turn(*origins: Origin) -> StoredEvent:
    """Finalize a turn with one message of each origin."""
    roles = {Origin.USER: Role.USER, Origin.TOOL: Role.TOOL}
    heads = tuple(
        MessageHead(message_id=MessageId(uuid4()), role=roles.get(origin, Role.ASSISTANT), origin=origin)
        for origin in origins
    )
    event = TurnFinalized(
        turn_id=TurnId(uuid4()), session_id=SessionId(uuid4()), status=TurnStatus.COMPLETED, messages=heads
    )
    return stored(event, *(message_part(head.message_id) for head in heads))


def proposed(of: StoredEvent, *cites: int) -> CandidateProposed:
    """Propose a memory from some messages of a turn."""
    event = finalized(of)
    return CandidateProposed(
        candidate_id=MemoryId(uuid4()),
        turn_id=event.turn_id,
        kind=Kind.FACT,
        assertion=Assertion.STATED,
        confidence=900,
        importance=500,
        pointers=tuple(Evidence(message_id=event.messages[cite].message_id, start=0, end=1) for cite in cites),
    )


def accepted(candidate: CandidateProposed, memory: MemoryId | None = None, version: int = 1) -> StoredEvent:
    """Accept a candidate as a version of a memory."""
    event = Accepted(
        candidate_id=candidate.candidate_id,
        memory_id=memory or candidate.candidate_id,
        version=version,
        turn_id=candidate.turn_id,
        kind=candidate.kind,
        confidence=900,
        importance=500,
        cites=tuple(pointer.message_id for pointer in candidate.pointers),
    )
    return stored(event, "memory", "index")


def reinforced(candidate: CandidateProposed, memory: MemoryId) -> StoredEvent:
    """Say a memory again."""
    return stored(
        Reinforced(candidate_id=candidate.candidate_id, memory_id=memory, version=1, turn_id=candidate.turn_id)
    )


def finalized(of: StoredEvent) -> TurnFinalized:
    """Narrow a stored turn."""
    assert isinstance(of.event, TurnFinalized)
    return of.event
