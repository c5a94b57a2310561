"""What goes when memories are forgotten (R41). Pure: it reads envelopes only."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from events.envelope import StoredEvent, considered_command
from events.model import (
    ANSWERS,
    FROM_CONTEXT,
    Accepted,
    CandidateProposed,
    Event,
    Expired,
    KeyId,
    Kind,
    MemoryId,
    MessageId,
    NotWritten,
    Outcome,
    Reinforced,
    Tombstoned,
    TurnFinalized,
    TurnId,
)
from projections.changes import CURRENT, Fact, absorbed, fold
from projections.sessions import message_part


@dataclass(frozen=True, slots=True)
class Trace:
    """What one memory left behind in the person's memory stream; `absorbed` was held and ends with it."""

    versions: tuple[StoredEvent, ...]
    absorbed: tuple[MemoryId, ...]
    cites: frozenset[MessageId]
    turns: frozenset[TurnId]
    tombstone: StoredEvent | None


@dataclass(slots=True)
class _Found:
    versions: list[StoredEvent] = field(default_factory=list)
    candidates: set[MemoryId] = field(default_factory=set)
    tombstone: StoredEvent | None = None


def trace(stream: Sequence[StoredEvent], memory_id: MemoryId) -> Trace:
    """Collect every version of a memory, every message that said it (also again), and its tombstone.

    A candidate that has expired left nothing to forget.
    """
    return traces(stream, {memory_id})[memory_id]


def traces(stream: Sequence[StoredEvent], memories: Collection[MemoryId]) -> dict[MemoryId, Trace]:
    """Collect what some memories left behind, in one pass over the stream."""
    taken = absorbed(stream)
    owner = {memory: memory for memory in memories}
    owner |= {held: memory for memory in memories for held in taken.get(memory, ()) if held not in owner}
    found = {memory: _Found() for memory in memories}
    proposed: dict[MemoryId, CandidateProposed] = {}
    for stored in stream:
        event = stored.event
        if isinstance(event, CandidateProposed):
            proposed[event.candidate_id] = event
        elif isinstance(event, Accepted) and event.memory_id in found:
            found[event.memory_id].versions.append(stored)
            found[event.memory_id].candidates.add(event.candidate_id)
        elif _holds(event) and event.candidate_id in owner:
            found[owner[event.candidate_id]].versions.append(stored)
            found[owner[event.candidate_id]].candidates.add(event.candidate_id)
        elif isinstance(event, NotWritten) and event.repeats in owner:
            found[owner[event.repeats]].candidates.add(event.candidate_id)
        elif isinstance(event, Reinforced) and event.memory_id in found:
            found[event.memory_id].candidates.add(event.candidate_id)
        elif isinstance(event, Expired):
            found |= {memory: _Found() for memory in event.memories if memory in found}
        elif isinstance(event, Tombstoned):
            for memory in found.keys() & set(event.memories):
                found[memory].tombstone = stored
    return {
        memory: _trace(
            each, tuple(sorted(taken.get(memory, ()))), [proposed[own] for own in each.candidates if own in proposed]
        )
        for memory, each in found.items()
    }


def _trace(found: _Found, taken: tuple[MemoryId, ...], proposed: Sequence[CandidateProposed]) -> Trace:
    return Trace(
        tuple(found.versions),
        taken,
        frozenset(pointer.message_id for event in proposed for pointer in event.pointers),
        frozenset(event.turn_id for event in proposed),
        found.tombstone,
    )


def _holds(event: Event) -> TypeGuard[NotWritten]:
    return isinstance(event, NotWritten) and event.outcome is Outcome.HELD


def said_in(stream: Sequence[StoredEvent], messages: AbstractSet[MessageId]) -> list[MemoryId]:
    """Name what still stands, or waits, and has a version that rests on one of these messages."""
    return _named(stream, lambda fact: not messages.isdisjoint(fact.cites))


def of_kind(stream: Sequence[StoredEvent], kind: Kind) -> list[MemoryId]:
    """Name what still stands, or waits, and is or was of a kind."""
    return _named(stream, lambda fact: fact.kind is kind)


def _named(stream: Sequence[StoredEvent], fits: Callable[[Fact], bool]) -> list[MemoryId]:
    facts = fold({}, stream).values()
    return sorted({fact.memory_id for fact in facts if fact.status not in {"forgotten", "expired"} and fits(fact)})


def in_their_own_right(stream: Sequence[StoredEvent], tombstone: StoredEvent) -> frozenset[MemoryId]:
    """Name what lived on when a tombstone was committed, and rests on nothing that was ever forgotten.

    Each came of a candidate that its own turn proposed to the gates, on messages that no tombstone names. A copy that
    something made of what was forgotten has no such turn, or rests on the messages that went.
    """
    before = [stored for stored in stream if stored.version <= tombstone.version]
    gone = {message for each in before if isinstance(each.event, Tombstoned) for message in each.event.messages}
    rests: dict[MemoryId, frozenset[MessageId]] = {}
    own: dict[tuple[MemoryId, int], bool] = {}
    for stored in before:
        event = stored.event
        if isinstance(event, CandidateProposed) and stored.command_id == considered_command(event.turn_id):
            rests[event.candidate_id] = frozenset(pointer.message_id for pointer in event.pointers)
        elif isinstance(event, Accepted):
            cites = frozenset(event.cites)
            proven = bool(cites) and cites <= rests.get(event.candidate_id, frozenset())
            own[event.memory_id, event.version] = proven and not cites & gone
    living = [place for place, fact in fold({}, before).items() if fact.status in CURRENT and not fact.source_forgotten]
    return frozenset(memory for memory, version in living if own.get((memory, version), False))


@dataclass(frozen=True, slots=True)
class Going:
    """What is to go: memories with what they left behind, and beside them messages, or turns entirely.

    `echoes` are messages, with their turns, that say it although nothing was made of them.
    """

    found: Mapping[MemoryId, Trace]
    messages: frozenset[MessageId] = frozenset()
    turns: frozenset[TurnId] = frozenset()
    entirely: bool = False
    echoes: Mapping[MessageId, TurnId] = field(default_factory=dict)

    @property
    def said(self) -> frozenset[TurnId]:
        """The turns that lose messages."""
        return self.turns.union(self.echoes.values(), *(each.turns for each in self.found.values()))


def with_made(stream: Sequence[StoredEvent], going: Going, made: Iterable[StoredEvent]) -> Going:
    """Let go too what upkeep made of what goes: those turns, and the memories that came of them (R53).

    What else such a memory was made of stays: it was not asked for.
    """
    turns = [each.event for each in made if isinstance(each.event, TurnFinalized)]
    ids = {turn.turn_id for turn in turns}
    memories = set(_named(stream, lambda fact: fact.turn_id in ids)) - going.found.keys()
    found = {memory: replace(each, cites=frozenset()) for memory, each in traces(stream, memories).items()}
    return replace(
        going,
        found={**going.found, **found},
        messages=going.messages | {head.message_id for turn in turns for head in turn.messages},
        turns=going.turns | ids,
    )


def plan(
    stream: Sequence[StoredEvent],
    going: Going,
    turns: Iterable[StoredEvent],
    injected: Iterable[StoredEvent],
) -> Tombstoned:
    """Name everything that goes.

    Args:
        stream: the person's whole memory stream.
        going: what was asked for.
        turns: the `turn_finalized` events of the turns that lose messages (`going.said`).
        injected: those of the turns into which one of the memories was injected.
    """
    messages: dict[MessageId, KeyId] = {}
    cited = going.messages.union(going.echoes, *(each.cites for each in going.found.values()))
    injected = list(injected)
    said = [*((turn, cited, ANSWERS) for turn in turns), *((turn, cited, FROM_CONTEXT) for turn in injected)]
    for stored, wanted, repeating in said:
        event = stored.event
        assert isinstance(event, TurnFinalized), "the caller reads turns only"  # noqa: S101 - narrows the type
        keys = {part.name: part.key_id for part in stored.parts}
        entire = going.entirely and event.turn_id in going.turns
        for head in event.messages:
            if entire or head.message_id in wanted or head.origin in repeating:
                messages[head.message_id] = keys[message_part(head.message_id)]
    gone = frozenset(messages)
    taken = [held for each in going.found.values() for held in each.absorbed]
    memories = tuple(dict.fromkeys([*going.found, *taken]))
    orphaned = {
        fact.memory_id
        for fact in fold({}, stream).values()
        if fact.status != "forgotten" and fact.memory_id not in memories and gone.intersection(fact.cites)
    }
    body_keys = (part.key_id for each in going.found.values() for stored in each.versions for part in stored.parts)
    return Tombstoned(
        memories=memories,
        messages=tuple(messages),
        keys=tuple(dict.fromkeys([*body_keys, *messages.values()])),
        turns=tuple(sorted(going.said)),
        injected=tuple(sorted({turn.event.turn_id for turn in injected if isinstance(turn.event, TurnFinalized)})),
        orphaned=tuple(sorted(orphaned)),
    )
