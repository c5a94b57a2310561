"""Events a live read model passed over, because this build does not know their type or version (R7).

A rolling upgrade lets an older process meet events of a newer one. It goes on without them and writes down, in the
transaction of its checkpoint, what it left out; a rebuild by the upgraded process takes them in and clears the note.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog

from events.envelope import StoredEvent
from events.errors import TamperError, UnknownEventError
from events.model import Position
from events.postgres import Connection

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Skipped:
    """How many events of a type and version a read model passed over, and where the first and last of them lie."""

    model: str
    type: str
    schema_version: int
    events: int
    first: Position
    last: Position


def readable(events: Iterable[StoredEvent]) -> tuple[list[StoredEvent], list[StoredEvent]]:
    """Part the events this build can read from those it cannot."""
    known: list[StoredEvent] = []
    unknown: list[StoredEvent] = []
    for event in events:
        try:
            event.event  # noqa: B018 - read once and kept by the event
        except (UnknownEventError, TamperError):
            unknown.append(event)
        else:
            known.append(event)
    return known, unknown


def require(events: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
    """Return the events as they are, if every one can be read; a rebuild must not leave anything out.

    Raises:
        UnknownEventError: this build does not know an event's type or version.
        TamperError: an event does not have the form of its version.
    """
    for event in events:
        event.event  # noqa: B018 - read once and kept by the event
    return events


async def note(connection: Connection, model: str, version: int, unknown: Sequence[StoredEvent]) -> None:
    """Write down what a model passes over, in the transaction that moves its checkpoint."""
    positions: dict[tuple[str, int], list[int]] = defaultdict(list)
    for event in unknown:
        positions[event.type, event.schema_version].append(event.position or 0)
    for (event_type, schema_version), at in positions.items():
        log.error("events_skipped", model=model, type=event_type, version=schema_version, count=len(at), first=at[0])
        await connection.execute(
            """insert into read_model.skipped as s values ($1, $2, $3, $4, $5, $6, $7)
               on conflict (name, version, type, schema_version) do update set
                 events = s.events + excluded.events, last_position = excluded.last_position""",
            model,
            version,
            event_type,
            schema_version,
            len(at),
            at[0],
            at[-1],
        )


async def forget_notes(connection: Connection, model: str, version: int) -> None:
    """Clear what was written down: a rebuild has taken everything in."""
    await connection.execute("delete from read_model.skipped where name = $1 and version = $2", model, version)


async def skipped(connection: Connection) -> list[Skipped]:
    """Return what the read models that serve now have passed over."""
    rows = await connection.fetch(
        """select s.name, s.type, s.schema_version, s.events, s.first_position, s.last_position
           from read_model.skipped s join read_model.checkpoint using (name, version) order by 1, 2, 3"""
    )
    return [
        Skipped(
            row["name"],
            row["type"],
            row["schema_version"],
            row["events"],
            Position(row["first_position"]),
            Position(row["last_position"]),
        )
        for row in rows
    ]
