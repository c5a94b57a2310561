"""Values for tests: turns, candidates, current memories, and a fold of rulings in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from events.model import (
    Assertion,
    Candidate,
    Evidence,
    Kind,
    MemoryBody,
    MemoryId,
    Message,
    MessageId,
    Origin,
    Outcome,
    Role,
    SessionId,
    Suppression,
    Turn,
    TurnId,
    TurnStatus,
)
from services.extraction.extract import extract
from services.governance.judge import Living, Ruling, View, Writing, judge
from services.governance.policy import load_policy
from services.governance.secrets import redact

NOON = datetime(2026, 7, 10, 12, tzinfo=UTC)
POLICY = load_policy()
_ROLES = {
    Origin.USER: Role.USER,
    Origin.ASSISTANT: Role.ASSISTANT,
    Origin.SUBAGENT: Role.ASSISTANT,
    Origin.INJECTED: Role.SYSTEM,
    Origin.TOOL: Role.TOOL,
    Origin.RETRIEVED: Role.TOOL,
    Origin.SYSTEM: Role.SYSTEM,
}


def a_message(content: str, origin: Origin = Origin.USER) -> Message:
    """Make a message."""
    return Message(message_id=MessageId(uuid4()), role=_ROLES[origin], origin=origin, content=content)


def a_turn(*messages: Message, at: datetime = NOON, status: TurnStatus = TurnStatus.COMPLETED) -> Turn:
    """Make a turn."""
    return Turn(
        turn_id=TurnId(uuid4()), session_id=SessionId(uuid4()), status=status, occurred_at=at, messages=messages
    )


def a_candidate(message: Message, **changes: object) -> Candidate:
    """Make a candidate that rests on a whole message."""
    values: dict[str, object] = {
        "kind": Kind.PREFERENCE,
        "key": "reply.length",
        "value": "concise",
        "content": "prefers concise answers",
        "evidence": (Evidence(message_id=message.message_id, start=0, end=len(message.content)),),
        "assertion": Assertion.STATED,
        "confidence": 0.9,
        "importance": 0.6,
    }
    return Candidate.model_validate({**values, **changes})


def a_memory(candidate: Candidate, at: datetime = NOON, **changes: object) -> Living:
    """Make a current memory that says what a candidate says."""
    body = {name: getattr(candidate, name) for name in MemoryBody.model_fields}
    return Living(
        memory_id=MemoryId(uuid4()),
        version=1,
        claim=MemoryBody.model_validate({**body, **changes}),
        confidence=900,
        importance=600,
        recorded_at=at,
        occurred_at=at,
        turn_id=TurnId(uuid4()),
    )


def a_view(
    turn: Turn,
    *living: Living,
    suppressions: tuple[Suppression, ...] = (),
    consents: frozenset[str] = frozenset(),
) -> View:
    """Make what the gates see."""
    return View(turn=turn, suppressions=suppressions, living=living, consents=consents, policy=POLICY)


@dataclass
class Person:
    """The rulings about one person, folded in memory."""

    living: list[Living] = field(default_factory=list)
    held: list[Candidate] = field(default_factory=list)
    replaced: list[Living] = field(default_factory=list)
    rulings: list[Ruling] = field(default_factory=list)

    def says(self, *contents: str, at: datetime = NOON) -> None:
        """Take one turn for each content, a day apart."""
        for day, content in enumerate(contents):
            self.takes(a_turn(a_message(redact(content).text), at=at + timedelta(days=day)))

    def takes(self, turn: Turn) -> None:
        """Extract, judge and fold one turn."""
        found = extract(turn)
        for candidate in found.candidates:
            self.judges(candidate, turn, found.suppressions)

    def judges(self, candidate: Candidate, turn: Turn, suppressions: tuple[Suppression, ...] = ()) -> None:
        """Judge and fold one candidate."""
        ruling = judge(candidate, a_view(turn, *self.living, suppressions=suppressions))
        self.rulings.append(ruling)
        if ruling.outcome is Outcome.HELD:
            self.held.append(candidate)
        if ruling.outcome in {Writing.ACCEPT, Writing.SUPERSEDE}:
            old = [each for each in self.living if ruling.target and each.memory_id == ruling.target.memory_id]
            self.replaced += old
            new = a_memory(candidate, turn.occurred_at).model_copy(update={"turn_id": turn.turn_id})
            self.living = [each for each in self.living if each not in old] + [new]

    def current(self) -> Sequence[str]:
        """Return what the current memories say, with their values."""
        return [f"{each.claim.content} | {each.claim.value}" for each in self.living]
