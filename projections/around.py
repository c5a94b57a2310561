"""What was said around some turns of a session, across the session store and the facts, in one round trip."""

from collections.abc import Collection
from dataclasses import dataclass

from events.model import Scope, TurnId
from events.postgres import Connection
from projections.briefs import COLUMNS, Briefs, briefs_from

_AROUND = f"""
with link as materialized (
  select t.turn_id, n.turn_id as neighbour, n.distance
  from sessions.turn t cross join lateral (
    (select b.turn_id, row_number() over (order by b.occurred_at desc, b.position desc) as distance
     from sessions.turn b
     where b.tenant_id = t.tenant_id and b.subject_id = t.subject_id and b.session_id = t.session_id
       and (b.occurred_at, b.position) < (t.occurred_at, t.position)
     order by b.occurred_at desc, b.position desc limit $4)
    union all
    (select a.turn_id, row_number() over (order by a.occurred_at, a.position) as distance
     from sessions.turn a
     where a.tenant_id = t.tenant_id and a.subject_id = t.subject_id and a.session_id = t.session_id
       and (a.occurred_at, a.position) > (t.occurred_at, t.position)
     order by a.occurred_at, a.position limit $4)) n
  where t.tenant_id = $1 and t.subject_id = $2 and t.turn_id = any($3::uuid[])
)
select m.*, null::uuid as link, null::uuid as neighbour, null::bigint as distance
from (select distinct neighbour from link) n cross join lateral (
  select {COLUMNS} from facts.memory
  where tenant_id = $1 and subject_id = $2 and turn_id = n.neighbour and status in ('current', 'in_conflict')
  order by importance desc, memory_id limit $5) m
union all
select {", ".join("null" for _ in COLUMNS.split(", "))}, turn_id, neighbour, distance from link
"""
_LINK = 3  # columns of a link, behind those of a brief


@dataclass(frozen=True, slots=True)
class Link:
    """A turn, another one of its session, and how many turns lie from the one to the other."""

    turn_id: TurnId
    neighbour: TurnId
    distance: int


async def said_around(
    connection: Connection, scope: Scope, turns: Collection[TurnId], *, reach: int, each: int
) -> tuple[list[Link], Briefs]:
    """Find the turns of the same session up to `reach` turns before and behind each of some turns of one person.

    Costs two index reads of `reach` rows a turn, however long the session is.

    Returns:
        The links; and of each turn that was found the `each` most important memories.
    """
    rows = await connection.fetch(_AROUND, scope.tenant_id, scope.subject_id, list(turns), reach, each)
    links = [
        Link(TurnId(row["link"]), TurnId(row["neighbour"]), row["distance"]) for row in rows if row["link"] is not None
    ]
    return links, briefs_from(list(row.values())[:-_LINK] for row in rows if row["link"] is None)
