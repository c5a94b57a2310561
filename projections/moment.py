"""How far the log and the read models have come for one person, in one query."""

from dataclasses import dataclass

from events.envelope import memory_stream, turns_stream
from events.model import Position, Scope
from events.postgres import Connection

_MOMENT = """
with model as (
  select distinct on (name) name, position, place, model from read_model.checkpoint
  where name in ('facts', 'keywords', 'sessions', 'vectors') order by name, version desc
), last as (
  select s.n, l.version, l.position
  from unnest($2::text[]) with ordinality as s(stream, n) left join lateral (
    select e.version, p.position from log.event e left join log.sealed p using (seq)
    where e.tenant_id = $1 and e.stream = s.stream order by e.version desc limit 1) l on true
)
select (select size - 1 from log.head) as position,
       (select min(position) from model where name in ('keywords', 'vectors')) as indexed,
       (select place from model where name = 'vectors') as vectors,
       (select model from model where name = 'vectors') as model,
       array(select coalesce(version, 0) from last order by n) as versions,
       coalesce((select bool_and(version is null or position <= (select min(position) from model)) from last), false)
         and not exists (select from last where version is not null and position is null) as settled
"""


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


async def moment_of(connection: Connection, scope: Scope) -> Moment:
    """Read the present of one person."""
    streams = [memory_stream(scope.subject_id), turns_stream(scope.subject_id)]
    row = await connection.fetchrow(_MOMENT, scope.tenant_id, streams)
    assert row is not None, "a query without a table in front always has a row"  # noqa: S101 - narrows the type
    version, turns = row["versions"]
    return Moment(
        Position(row["position"]),
        version,
        turns,
        Position(row["indexed"]),
        row["vectors"],
        row["model"],
        settled=row["settled"],
    )
