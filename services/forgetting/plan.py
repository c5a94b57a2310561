"""What goes when a memory is forgotten (R41). Pure: it reads envelopes only."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from events.envelope import StoredEvent
from events.model import (
    ANSWERS,
    FROM_CONTEXT,
    Accepted,
    CandidateProposed,
    Event,
    Expired,
    KeyId,
    MemoryId,
    MessageId,
    NotWritten,
    Outcome,
    Reinforced,
    Resolved,
    Tombstoned,
    TurnFinalized,
    TurnId,
)
from projections.changes import fold
from projections.sessions import message_part


@dataclass(frozen=True, slots=True)
class Trace:
    """What one memory left behind in the person's memory stream; `absorbed` was held and confirmed into it."""

    versions: tuple[StoredEvent, ...]
    absorbed: tuple[MemoryId, ...]
    cites: frozenset[MessageId]
    turns: frozenset[TurnId]
    tombstone: StoredEvent | None


def trace(stream: Sequence[StoredEvent], memory_id: MemoryId) -> Trace:
    """Collect every version of a memory, every message that said it (reinforcements too), and its tombstone.

    A candidate that has expired left nothing to forget.
    """
    absorbed = _absorbed(stream, memory_id)
    versions, candidates = [], set()
    tombstone = None
    for stored in stream:
        event = stored.event
        if (isinstance(event, Accepted) and event.memory_id == memory_id) or (
            _holds(event) and event.candidate_id in {memory_id, *absorbed}
        ):
            versions.append(stored)
            candidates.add(event.candidate_id)
        elif isinstance(event, Reinforced) and event.memory_id == memory_id:
            candidates.add(event.candidate_id)
        elif isinstance(event, Expired) and memory_id in event.memories:
            versions, candidates = [], set()
        elif isinstance(event, Tombstoned) and memory_id in event.memories:
            tombstone = stored
    proposed = [
        stored.event
        for stored in stream
        if isinstance(stored.event, CandidateProposed) and stored.event.candidate_id in candidates
    ]
    return Trace(
        tuple(versions),
        absorbed,
        frozenset(pointer.message_id for event in proposed for pointer in event.pointers),
        frozenset(event.turn_id for event in proposed),
        tombstone,
    )


def _absorbed(stream: Iterable[StoredEvent], memory_id: MemoryId) -> tuple[MemoryId, ...]:
    """Return what was held and became part of a memory when the person confirmed it."""
    held: set[MemoryId] = set()
    settled: set[MemoryId] = set()
    for stored in stream:
        event = stored.event
        if _holds(event):
            held.add(event.candidate_id)
        elif isinstance(event, Resolved) and event.decision == "confirmed" and event.memory_id == memory_id:
            settled |= held.intersection(event.settled)
    return tuple(sorted(settled - {memory_id}))


def _holds(event: Event) -> TypeGuard[NotWritten]:
    return isinstance(event, NotWritten) and event.outcome is Outcome.HELD


def plan(
    stream: Sequence[StoredEvent],
    found: Trace,
    memory_id: MemoryId,
    turns: Iterable[StoredEvent],
    injected: Iterable[StoredEvent],
) -> Tombstoned:
    """Name everything that goes with a memory.

    Args:
        stream: the person's whole memory stream.
        found: what the memory left in it.
        memory_id: the memory.
        turns: the `turn_finalized` events of the turns that said it.
        injected: those of the turns into which it was injected.
    """
    messages: dict[MessageId, KeyId] = {}
    none = frozenset[MessageId]()
    said = [*((turn, found.cites, ANSWERS) for turn in turns), *((turn, none, FROM_CONTEXT) for turn in injected)]
    for stored, cited, going in said:
        event = stored.event
        assert isinstance(event, TurnFinalized), "the caller reads turns only"  # noqa: S101 - narrows the type
        keys = {part.name: part.key_id for part in stored.parts}
        for head in event.messages:
            if head.message_id in cited or head.origin in going:
                messages[head.message_id] = keys[message_part(head.message_id)]
    gone = frozenset(messages)
    orphaned = {
        fact.memory_id
        for fact in fold({}, stream).values()
        if fact.status != "forgotten" and fact.memory_id != memory_id and gone.intersection(fact.cites)
    }
    body_keys = (part.key_id for stored in found.versions for part in stored.parts)
    return Tombstoned(
        memories=(memory_id, *found.absorbed),
        messages=tuple(messages),
        keys=tuple(dict.fromkeys([*body_keys, *messages.values()])),
        turns=tuple(sorted(found.turns)),
        injected=tuple(sorted({turn.event.turn_id for turn in injected if isinstance(turn.event, TurnFinalized)})),
        orphaned=tuple(sorted(orphaned)),
    )
