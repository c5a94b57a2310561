"""What was known of a person at a moment, and what of it was true at another: two times, asked apart (R21).

*Recorded time* says what the log knew: its events up to a moment or a position. *Valid time* says when a thing was so:
from `valid_from`, or else from when it was said, until `valid_until` or until the next version of it begins. Both under
today's fence and today's consents: what was forgotten since is a stone.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Literal

from events.bodies import Lost, Shredded, Tampered
from events.envelope import StoredEvent
from events.model import EventId, MemoryBody, MemoryId, Position
from projections.changes import Fact, State, fold

Today = Literal["readable", "forgotten", "expired", "consent_withdrawn", "suspended", "lost", "tampered"]
Opened = MemoryBody | Shredded | Lost


@dataclass(frozen=True, slots=True)
class Moment:
    """Up to where the log is taken: a time, a position, or neither, which is now."""

    time: datetime | None = None
    position: Position | None = None

    def holds(self, event: StoredEvent) -> bool:
        """Tell whether an event was recorded by then. One that has no position yet lies behind every position."""
        if self.position is not None:
            return event.position is not None and event.position <= self.position
        return self.time is None or event.recorded_at <= self.time


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory version as it stood then, and what may be read of it today.

    It is valid from `valid_from` up to, but not at, `valid_until`; None means without end. `body` is there where
    `today` is `readable`; `lost` and `tampered` are faults of the store, the others are wishes that hold today.
    """

    fact: Fact
    today: Today
    valid_from: datetime
    valid_until: datetime | None
    body: MemoryBody | None


@dataclass(frozen=True, slots=True)
class Barred:
    """What may not be read today: memories by why, and sensitive classes whose consent is withdrawn."""

    forgotten: Collection[MemoryId]
    expired: Collection[MemoryId]
    withdrawn: Collection[str]
    suspended: Collection[MemoryId] = ()


def known(events: Iterable[StoredEvent], moment: Moment) -> State:
    """Fold one person's memory stream up to a moment.

    Raises:
        UnknownEventError: an event is of a newer build; a state that leaves something out would be none.
    """
    return fold({}, takewhile(moment.holds, events))


def remembered(
    state: State, bodies: Mapping[EventId, Opened], barred: Barred, valid_at: datetime | None
) -> list[Remembered]:
    """Show a state as it may be read today, oldest first.

    Args:
        state: every version that was known then.
        bodies: what opens of them today, by the event that brought them.
        barred: what nobody may read today.
        valid_at: only what was true at this time, current then or not; None for what was current or held.
    """
    by_memory: dict[MemoryId, list[Remembered]] = defaultdict(list)
    for _, fact in sorted(state.items(), key=lambda each: each[0][1], reverse=True):  # the newest version first
        later = by_memory[fact.memory_id]
        later.append(_remembered(fact, bodies.get(fact.event_id), barred, later[-1].valid_from if later else None))
    every = (each for versions in by_memory.values() for each in versions)
    if valid_at is None:
        found = [each for each in every if each.fact.status in {"current", "held"}]
    else:
        written = (each for each in every if each.fact.status in {"current", "superseded"})
        found = [each for each in written if _valid(each, valid_at)]
    return sorted(found, key=lambda each: (each.fact.recorded_at, each.fact.memory_id, each.fact.version))


def _remembered(fact: Fact, opened: Opened | None, barred: Barred, replaced: datetime | None) -> Remembered:
    today = _today(fact, opened, barred)
    body = opened if isinstance(opened, MemoryBody) and today == "readable" else None
    begins = body.valid_from if body is not None and body.valid_from is not None else fact.occurred_at
    ends = [end for end in (None if body is None else body.valid_until, replaced) if end is not None]
    return Remembered(fact, today, begins, min(ends) if ends else None, body)


def _today(fact: Fact, opened: Opened | None, barred: Barred) -> Today:
    if fact.memory_id in barred.expired:
        return "expired"
    if fact.memory_id in barred.forgotten or isinstance(opened, Shredded):
        return "forgotten"
    if not isinstance(opened, MemoryBody):
        return "lost" if isinstance(opened, Lost) and not isinstance(opened, Tampered) else "tampered"
    if fact.memory_id in barred.suspended:
        return "suspended"
    return "consent_withdrawn" if opened.sensitivity in barred.withdrawn else "readable"


def _valid(each: Remembered, at: datetime) -> bool:
    return each.valid_from <= at and (each.valid_until is None or at < each.valid_until)
