"""What settles something that waits, as events. Pure: from the stream and the opened memories of one moment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from events.envelope import StoredEvent
from events.model import (
    Accepted,
    CandidateProposed,
    Conflicted,
    Event,
    KeyId,
    MemoryBody,
    MemoryId,
    NotWritten,
    PurposeId,
    Resolved,
    Superseded,
    Tombstoned,
    Verified,
)
from projections.changes import Fact, absorbed
from services.governance.gates.conflict import contradicts
from services.governance.sameness import same_thing, same_value

_CERTAIN = 1000  # thousandths: the person said so


@dataclass(frozen=True, slots=True)
class Opened:
    """A living memory version with its content."""

    fact: Fact
    body: MemoryBody


@dataclass(frozen=True, slots=True)
class Settlement:
    """The events of a decision; `body` is the content of the version that comes into being with it, if one does."""

    events: tuple[Event, ...]
    memory_id: MemoryId
    version: int
    decision: str
    body: MemoryBody | None = None


def confirm(
    own: Opened, stream: Sequence[StoredEvent], living: Iterable[Opened], purpose: PurposeId | None = None
) -> Settlement:
    """Make a held candidate the next version of what it contradicts, a memory of its own, or one with its like.

    Args:
        own: what is held.
        stream: the person's memory stream.
        living: everything that lives at this moment.
        purpose: for which the person consents to it, where it is for none yet.
    """
    held, body = own.fact, own.body
    audience = held.audience.model_copy(update={"purpose": held.purpose or purpose})
    others = [each for each in living if each.fact.status != "held" and each.fact.audience == audience]
    same = [each for each in others if says_the_same(body, each.body)]
    if same:
        kept = max(same, key=lambda each: each.fact.occurred_at).fact
        return _resolved("confirmed", kept.memory_id, kept.version, (held.memory_id,))
    against = sorted((each.fact for each in others if contradicts(body, each.body)), key=lambda fact: fact.occurred_at)
    memory, version = (against[-1].memory_id, against[-1].version + 1) if against else (held.memory_id, 1)
    accepted = Accepted(
        candidate_id=held.memory_id,
        memory_id=memory,
        version=version,
        turn_id=held.turn_id,
        kind=held.kind,
        confidence=_CERTAIN,
        importance=_importance(stream, held.memory_id),
        cites=held.cites,
        explicit=True,
        audience=audience,
    )
    before = [Superseded(memory_id=memory, version=version - 1, by_version=version)] if against else []
    settled = {held.memory_id, *(fact.memory_id for fact in against if fact.status == "in_conflict")} - {memory}
    after = Resolved(decision="confirmed", memory_id=memory, version=version, settled=tuple(sorted(settled)))
    return Settlement((*before, accepted, after), memory, version, "confirmed", body)


def overtaken(
    own: Opened, stream: Sequence[StoredEvent], living: Iterable[Opened], purpose: PurposeId | None = None
) -> Settlement | None:
    """Let stand what the person said of it later, where that is a memory already; None where they said nothing later.

    When something was said is no matter of when it was confirmed (R20).
    """
    audience = own.fact.audience.model_copy(update={"purpose": own.fact.purpose or purpose})
    said = {stored.event.candidate_id: stored.occurred_at for stored in stream if isinstance(stored.event, NotWritten)}
    came = {
        (event.memory_id, event.version): said[event.candidate_id]
        for stored in stream
        if isinstance(event := stored.event, Accepted) and event.candidate_id in said
    }
    for each in living:
        fact = each.fact
        at = fact.verified_at if fact.reinforced else came.get((fact.memory_id, fact.version), fact.verified_at)
        newer = fact.status == "current" and fact.audience == audience and at > own.fact.occurred_at
        if newer and contradicts(each.body, own.body) and not says_the_same(each.body, own.body):
            return _resolved("restated", fact.memory_id, fact.version, (own.fact.memory_id,))
    return None


def said_later(own: Opened, living: Iterable[Opened]) -> Opened | None:
    """Return what the person said of it later, where that waits for consent like it; the newest of several."""
    later = [
        each
        for each in living
        if each.fact.status == "held"
        and each.fact.reason == own.fact.reason
        and each.fact.audience == own.fact.audience
        and each.fact.occurred_at > own.fact.occurred_at
        and contradicts(each.body, own.body)
        and not says_the_same(each.body, own.body)
    ]
    return max(later, key=lambda each: each.fact.occurred_at, default=None)


def refuse(own: Opened, stream: Sequence[StoredEvent]) -> Settlement:
    """Drop a held candidate and destroy its content: by a tombstone without messages, so the deletion is proven."""
    held = own.fact
    gone = (held.memory_id, *sorted(absorbed(stream).get(held.memory_id, ())))  # also what it stood for in the inbox
    keys = tuple(key for memory in gone for key in _keys(stream, memory))
    stone = Tombstoned(memories=gone, messages=(), keys=keys, topics=())
    resolved = Resolved(decision="refused", memory_id=held.memory_id, version=held.version)
    return Settlement((resolved, stone), held.memory_id, held.version, "refused")


def verify(own: Opened) -> Settlement:
    """Let a memory whose lease is over hold on: the person says that it is still so."""
    fact = own.fact
    event = Verified(memory_id=fact.memory_id, version=fact.version)
    return Settlement((event,), fact.memory_id, fact.version, "verified")


def choose(own: Opened, rivals: tuple[MemoryId, ...]) -> Settlement:
    """Let one of several memories in conflict stand."""
    return _resolved("chosen", own.fact.memory_id, own.fact.version, rivals)


def rivals_of(memory: MemoryId, stream: Iterable[StoredEvent], living: Iterable[Opened]) -> tuple[MemoryId, ...]:
    """Return what a memory is in conflict with, also through others."""
    waiting = {each.fact.memory_id for each in living if each.fact.status == "in_conflict"}
    groups = [{*stored.event.memories} for stored in stream if isinstance(stored.event, Conflicted)]
    found = {memory}
    while more := {each for group in groups if group & found for each in group & waiting} - found:
        found |= more
    return tuple(sorted(found - {memory}))


def _resolved(decision: str, memory: MemoryId, version: int, settled: tuple[MemoryId, ...]) -> Settlement:
    event = Resolved.model_validate({"decision": decision, "memory_id": memory, "version": version, "settled": settled})
    return Settlement((event,), memory, version, decision)


def says_the_same(one: MemoryBody, other: MemoryBody) -> bool:
    """Tell whether two memories say one thing of one thing."""
    return one.positive == other.positive and same_thing(one, other) and same_value(one, other)


def _importance(stream: Iterable[StoredEvent], candidate: MemoryId) -> int:
    proposed = (event for stored in stream if isinstance(event := stored.event, CandidateProposed))
    return next((event.importance for event in proposed if event.candidate_id == candidate), 0)


def _keys(stream: Iterable[StoredEvent], candidate: MemoryId) -> Iterable[KeyId]:
    for stored in stream:
        if isinstance(stored.event, NotWritten) and stored.event.candidate_id == candidate:
            yield from (part.key_id for part in stored.parts)
