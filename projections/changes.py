"""What an event does to the state of a person's memories: the one fold behind the facts table and every decision.

It branches on envelopes only; bodies are opaque cargo, so shredding any key leaves the same state minus content.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, Protocol, TypeVar

from events.envelope import StoredEvent
from events.model import (
    Accepted,
    AssistantId,
    Audience,
    Conflicted,
    Embedded,
    EventId,
    Expired,
    Kind,
    LeaseEnded,
    MemoryId,
    Merged,
    MessageId,
    NotWritten,
    Outcome,
    ProjectId,
    PurposeId,
    Reinforced,
    Resolved,
    Resumed,
    Scope,
    Separated,
    Superseded,
    Suspended,
    TaskId,
    Tiered,
    Tombstoned,
    TurnId,
    Used,
    Verified,
)

Status = Literal["current", "in_conflict", "superseded", "merged", "held", "expired", "forgotten"]

CURRENT: Final[frozenset[Status]] = frozenset({"current", "in_conflict"})
"""What agents are given, each with its mark."""

LIVING: Final = frozenset({"current", "in_conflict", "held"})
"""What a new statement meets, and the person sees."""

STONES: Final[frozenset[Status]] = frozenset({"forgotten", "expired"})
"""What nobody reads again."""

CITING: Final = LIVING | {"merged"}
"""What keeps the messages it rests on."""

_KEPT: Final[frozenset[Status]] = frozenset({"current", "in_conflict", "superseded", "merged", "held"})


@dataclass(frozen=True, slots=True)
class Fact:
    """One version of one memory, without its content. Confidence and importance are thousandths.

    `verified_at` is when the person last said it (R14), `used_at` when it was last noted that an agent was given it,
    `lease_ended_at` when it was noted that its lease had run out.
    `asked` says that the person asked to remember it, this version or an earlier one. A `cold` one has no row in the
    vector index. `suspended` says that the person set the memory aside (R22); a version that is
    written meanwhile is set aside with it. `project`, `task`, `assistant` and `purpose`
    are those it is for (R30); one that was `moved_on` since is the person's alone.
    """

    memory_id: MemoryId
    version: int
    status: Status
    event_id: EventId
    kind: Kind
    confidence: int
    importance: int
    cites: tuple[MessageId, ...]
    turn_id: TurnId
    occurred_at: datetime
    recorded_at: datetime
    verified_at: datetime
    used_at: datetime | None = None
    lease_ended_at: datetime | None = None
    asked: bool = False
    cold: bool = False
    reinforced: int = 0
    source_forgotten: bool = False
    gate: str | None = None
    reason: str | None = None
    held_until: datetime | None = None
    suspended: bool = False
    project: ProjectId | None = None
    task: TaskId | None = None
    assistant: AssistantId | None = None
    purpose: PurposeId | None = None
    moved_on: bool = False

    @property
    def lease_noted(self) -> bool:
        """Whether it is on record that its lease is over, and it was neither said again nor confirmed since."""
        return self.lease_ended_at is not None and self.lease_ended_at >= self.verified_at

    @property
    def audience(self) -> Audience:
        """Which readers it is for."""
        return Audience(project=self.project, task=self.task, assistant=self.assistant, purpose=self.purpose)


Place = tuple[MemoryId, int]
"""A memory and its version."""

State = dict[Place, Fact]


class Reached(Protocol):
    """What says which readers it is for."""

    @property
    def audience(self) -> Audience: ...  # noqa: D102 - as `Fact` has it

    @property
    def moved_on(self) -> bool: ...  # noqa: D102 - as above


R = TypeVar("R", bound=Reached)


def fact_of(stored: StoredEvent) -> Fact | None:
    """Return the memory version an event brings into being, if it does."""
    event = stored.event
    if isinstance(event, Accepted):
        return Fact(
            memory_id=event.memory_id,
            version=event.version,
            status="current",
            event_id=stored.event_id,
            kind=event.kind,
            confidence=event.confidence,
            importance=event.importance,
            cites=event.cites,
            turn_id=event.turn_id,
            occurred_at=stored.occurred_at,
            recorded_at=stored.recorded_at,
            verified_at=stored.said_at,
            asked=event.explicit,
            **dict(event.audience),
        )
    if isinstance(event, NotWritten) and event.outcome is Outcome.HELD:
        return Fact(
            memory_id=event.candidate_id,
            version=1,
            status="held",
            event_id=stored.event_id,
            kind=event.kind,
            confidence=event.confidence,
            importance=event.importance,
            cites=event.cites,
            turn_id=event.turn_id,
            occurred_at=stored.occurred_at,
            recorded_at=stored.recorded_at,
            verified_at=stored.said_at,
            gate=event.gate,
            reason=event.reason,
            held_until=event.held_until,
            **dict(event.audience),
        )
    return None


def within(state: dict[Place, R], scope: Scope) -> dict[Place, R]:
    """Leave out what the scope does not reach: the check behind the store's own, for what it has not folded yet."""
    if scope.reach is None:
        return state
    return {place: each for place, each in state.items() if scope.admits(each.audience) and not each.moved_on}


def touched(stored: StoredEvent) -> set[MemoryId]:
    """Return the memories whose rows an event changes."""
    event = stored.event
    if isinstance(event, Tombstoned):
        return {*event.memories, *event.orphaned}
    if isinstance(event, Conflicted | Suspended | Resumed):
        return {*event.memories}
    if isinstance(event, Resolved):
        return {event.memory_id, *event.settled}
    if isinstance(event, Superseded | Reinforced | Verified):
        return {event.memory_id}
    if isinstance(event, Expired | Used | LeaseEnded | Tiered | Merged | Separated):
        return {*event.memories}
    fact = fact_of(stored)
    return set() if fact is None else {fact.memory_id}


def touched_by(events: Iterable[StoredEvent]) -> set[MemoryId]:
    """Return the memories whose rows some events change."""
    return {memory for event in events for memory in touched(event)}


def fold(state: State, events: Iterable[StoredEvent]) -> State:
    """Apply events in stream order to a copy of the state."""
    state = dict(state)
    stones = {fact.memory_id for fact in state.values() if fact.status == "forgotten"}
    for stored in events:
        if (fact := fact_of(stored)) is not None:
            # no decider writes a version behind the tombstone; whoever does resurrects nothing
            gone = fact.memory_id in stones
            before = state.get((fact.memory_id, fact.version - 1))
            if before is not None:
                fact = replace(fact, asked=fact.asked or before.asked, suspended=before.suspended)
            if isinstance(stored.event, Accepted) and stored.event.moved:
                fact = _moved(state, fact, before)
            state[fact.memory_id, fact.version] = replace(fact, status="forgotten") if gone else fact
        elif isinstance(event := stored.event, Tombstoned):
            stones |= _bury(state, event)
        elif isinstance(event, Suspended | Resumed):
            for place in [place for place in state if place[0] in event.memories]:
                state[place] = replace(state[place], suspended=isinstance(event, Suspended))
        else:
            _change(state, stored)
    return state


def _moved(state: State, fact: Fact, before: Fact | None) -> Fact:
    """Leave what a memory was before it was moved to the person; return it as it is now, as old and as used as then."""
    for place, each in list(state.items()):
        if each.memory_id == fact.memory_id:
            state[place] = replace(each, moved_on=True)
    if before is None:
        return fact
    return replace(
        fact,
        verified_at=before.verified_at,
        used_at=before.used_at,
        lease_ended_at=before.lease_ended_at,
        reinforced=before.reinforced,
        source_forgotten=before.source_forgotten,
    )


def _bury(state: State, event: Tombstoned) -> set[MemoryId]:
    """Mark what a tombstone names, and what it leaves without a source; return the memories that were there."""
    gone = set()
    for place, fact in list(state.items()):
        if event.whole or fact.memory_id in event.memories:
            state[place] = replace(fact, status="forgotten")
            gone.add(fact.memory_id)
        elif fact.memory_id in event.orphaned and fact.status != "forgotten":
            state[place] = replace(fact, source_forgotten=True)
    return gone


def _change(state: State, stored: StoredEvent) -> None:
    event = stored.event
    if isinstance(event, Superseded):
        place = event.memory_id, event.version
        if (old := state.get(place)) is not None and old.status != "forgotten":
            state[place] = replace(old, status="superseded")
    elif isinstance(event, Reinforced):
        place = event.memory_id, event.version
        if (old := state.get(place)) is not None:
            verified_at = max(old.verified_at, stored.said_at)
            state[place] = replace(
                old, reinforced=old.reinforced + 1, verified_at=verified_at, asked=old.asked or event.explicit
            )
    elif isinstance(event, Verified):
        place = event.memory_id, event.version
        if (old := state.get(place)) is not None:
            state[place] = replace(old, verified_at=max(old.verified_at, stored.said_at))
    elif isinstance(event, Conflicted):
        _move(state, event.memories, {"current"}, "in_conflict")
    elif isinstance(event, Resolved):
        _move(state, {event.memory_id}, {"in_conflict"}, "current")
        _move(state, event.settled, {"in_conflict", "held"}, "superseded")
    else:
        _tend(state, stored)


def _tend(state: State, stored: StoredEvent) -> None:
    """Do what upkeep did."""
    event = stored.event
    if isinstance(event, Expired):
        _move(state, event.memories, _KEPT, "expired")
    elif isinstance(event, Merged):
        _move(state, event.memories, {"current"}, "merged")
    elif isinstance(event, Separated):
        _move(state, event.memories, {"merged"}, "current")
        _note(state, stored, event)
    elif isinstance(event, Used | LeaseEnded | Tiered):
        _note(state, stored, event)


def _note(state: State, stored: StoredEvent, event: Used | LeaseEnded | Tiered | Separated) -> None:
    """Write down what upkeep noted about the versions that are current."""
    for place, fact in list(state.items()):
        if fact.memory_id in event.memories and fact.status in CURRENT:
            if isinstance(event, Used):
                state[place] = replace(fact, used_at=stored.said_at)
            elif isinstance(event, LeaseEnded):
                state[place] = replace(fact, lease_ended_at=stored.said_at)
            else:
                state[place] = replace(fact, cold=isinstance(event, Tiered) and event.tier == "cold")


def sources_of(stored: StoredEvent) -> tuple[EventId, ...]:
    """Name the events whose versions an event brings back into the indexes."""
    event = stored.event
    if isinstance(event, Separated | Embedded) or (isinstance(event, Tiered) and event.tier == "hot"):
        return event.sources
    return ()


def together(stream: Iterable[StoredEvent], memory: MemoryId) -> frozenset[MemoryId]:
    """Return a memory with those it stands for, or is stood for by, as it says the same: whatever ends one ends all."""
    groups: dict[MemoryId, set[MemoryId]] = {}
    for stored in stream:
        if isinstance(event := stored.event, Merged):
            group = {member for each in (event.memory_id, *event.memories) for member in groups.get(each, {each})}
            groups |= dict.fromkeys(group, group)
        elif isinstance(event, Separated):
            for each in event.memories:
                groups.pop(each, set()).discard(each)
    return frozenset(groups.get(memory, set()) | {memory})


def absorbed(stream: Iterable[StoredEvent]) -> dict[MemoryId, set[MemoryId]]:
    """Return by memory what was held and became part of it, or gave way to it unconfirmed: that ends with it."""
    held: set[MemoryId] = set()
    written: set[MemoryId] = set()
    taken: dict[MemoryId, set[MemoryId]] = {}
    for stored in stream:
        event = stored.event
        if isinstance(event, NotWritten) and event.outcome is Outcome.HELD:
            held.add(event.candidate_id)
        elif isinstance(event, Accepted):
            written.add(event.memory_id)
        elif isinstance(event, Resolved) and event.decision in {"confirmed", "restated"}:
            settled = held.intersection(event.settled) - {event.memory_id}
            for gone in settled if event.decision == "confirmed" else settled - written:
                taken.setdefault(event.memory_id, set()).update({gone} | taken.get(gone, set()))
    return taken


def _move(state: State, memories: Collection[MemoryId], before: Collection[Status], after: Status) -> None:
    """Give the versions of some memories that have one of these statuses another."""
    for place, fact in list(state.items()):
        if fact.memory_id in memories and fact.status in before:
            state[place] = replace(fact, status=after)
