"""What every recall begins with, in one round trip: how far log and read models have come for one person."""

from dataclasses import dataclass

from events.envelope import memory_stream, stored, turns_stream
from events.model import MemoryId, Position, Scope
from events.postgres import Connection, bounds_of
from projections.choices import Consents, fold_consents


@dataclass(frozen=True, slots=True)
class Moment:
    """What a reader sees at one moment.

    Attributes:
        position: the log's last position, -1 where it is empty.
        version: that of the person's memory stream; whatever changes the person's memory raises it.
        turns: that of the person's turns.
        indexed: the position both indexes have reached.
        vectors: the collection that serves the vector index.
        model: which model made its vectors.
        settled: whether every read model has seen all of both streams, so that an answer depends on the versions only.
    """

    position: Position
    version: int
    turns: int
    indexed: Position
    vectors: str
    model: str
    settled: bool


@dataclass(frozen=True, slots=True)
class Present:
    """A moment, and what holds at it whatever the person talks about.

    `standing` are formats, profile and procedures, the most important ones; `consents` are what the person chose.
    """

    moment: Moment
    standing: frozenset[MemoryId]
    consents: Consents


async def present_of(connection: Connection, scope: Scope, standing: int = 0) -> Present:
    """Read the present of one person, with at most so many standing memories; needs no transaction of its own."""
    row = await connection.fetchrow(
        "select * from read_model.present_v1($1, $2, $3)",
        bounds_of(scope),
        [memory_stream(scope.subject_id), turns_stream(scope.subject_id)],
        standing,
    )
    assert row is not None, "a query without a table in front always has a row"  # noqa: S101 - narrows the type
    version, turns = row["versions"]
    moment = Moment(
        Position(row["position"]),
        version,
        turns,
        Position(row["indexed"]),
        row["vectors"],
        row["model"],
        settled=row["settled"],
    )
    choices = fold_consents(stored(envelope, None) for envelope in row["choices"])
    return Present(moment, frozenset(map(MemoryId, row["standing"])), choices)
