"""The facts table: every memory version and which is current, folded from the log."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from events.envelope import StoredEvent
from events.log import read_stream
from events.model import Kind, MemoryId, Scope, TurnId
from events.postgres import Connection, Row
from projections.changes import STONES, Fact, State, fact_of, fold, touched_by
from projections.index import IndexReader
from projections.model import Tables
from projections.unreadable import readable

_FIELDS = [field.name for field in fields(Fact)]
COLUMNS = ", ".join(_FIELDS)
_KIND, _CITES = _FIELDS.index("kind"), _FIELDS.index("cites")
_KINDS = {kind.value: kind for kind in Kind}
_LIVING = "('current', 'in_conflict', 'held')"


class Facts(Tables):
    """The projection. Reads only the tag out of sealed bodies, through the index reader."""

    name: ClassVar[str] = "facts"
    version: ClassVar[int] = 1

    def __init__(self, index: IndexReader) -> None:
        self._index = index

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Fold a batch, person by person; what a person's rows have seen already is passed over."""
        by_person: dict[tuple[Scope, str], list[StoredEvent]] = defaultdict(list)
        for event in events:
            if event.stream.startswith("memory/"):
                by_person[event.scope, event.stream].append(event)
        for (scope, _), own in by_person.items():
            await self._apply_person(connection, place, scope, own)

    async def _apply_person(
        self, connection: Connection, place: str, scope: Scope, events: Sequence[StoredEvent]
    ) -> None:
        applied = await connection.fetchval(
            f"select applied from {place}.subject where tenant_id = $1 and subject_id = $2",
            scope.tenant_id,
            scope.subject_id,
        )
        events = [event for event in events if event.version > (applied or 0)]
        if not events:
            return
        known = await read_memories(connection, scope, touched_by(events), place)
        after = fold(known, events)
        tags = {
            event_id: body.tag
            for event_id, body in (await self._index.read(connection, scope, [e for e in events if fact_of(e)])).items()
        }
        changed = [fact for key, fact in after.items() if known.get(key) != fact]
        await connection.execute(
            f"""insert into {place}.memory as m (tenant_id, subject_id, tag, {COLUMNS})
                select $1, $2, t.tag, t.memory_id, t.version, t.status, t.event_id, t.kind, t.confidence, t.importance,
                       coalesce(t.cites::uuid[], '{{}}'), t.turn_id, t.occurred_at, t.recorded_at,
                       t.verified_at, t.used_at, t.lease_ended_at, t.asked, t.cold,
                       t.reinforced, t.source_forgotten, t.gate, t.reason, t.held_until, t.suspended, t.project,
                       t.task, t.assistant, t.purpose, t.moved_on
                from unnest($3::bytea[], $4::uuid[], $5::integer[], $6::text[], $7::uuid[], $8::text[], $9::integer[],
                            $10::integer[], $11::text[], $12::uuid[], $13::timestamptz[], $14::timestamptz[],
                            $15::timestamptz[], $16::timestamptz[], $17::timestamptz[], $18::boolean[], $19::boolean[],
                            $20::integer[], $21::boolean[], $22::text[], $23::text[], $24::timestamptz[],
                            $25::boolean[], $26::uuid[], $27::uuid[], $28::uuid[], $29::uuid[],
                            $30::boolean[])
                  as t(tag, memory_id, version, status, event_id, kind, confidence, importance, cites, turn_id,
                       occurred_at, recorded_at, verified_at, used_at, lease_ended_at, asked, cold,
                       reinforced, source_forgotten, gate, reason, held_until, suspended, project, task,
                       assistant, purpose, moved_on)
                on conflict (tenant_id, memory_id, version) do update set
                  status = excluded.status, reinforced = excluded.reinforced,
                  source_forgotten = excluded.source_forgotten, verified_at = excluded.verified_at,
                  used_at = excluded.used_at, lease_ended_at = excluded.lease_ended_at, asked = excluded.asked,
                  cold = excluded.cold, event_id = excluded.event_id,
                  confidence = excluded.confidence, importance = excluded.importance, cites = excluded.cites,
                  turn_id = excluded.turn_id, occurred_at = excluded.occurred_at, recorded_at = excluded.recorded_at,
                  gate = excluded.gate, reason = excluded.reason, held_until = excluded.held_until,
                  suspended = excluded.suspended, project = excluded.project, task = excluded.task,
                  assistant = excluded.assistant, purpose = excluded.purpose, moved_on = excluded.moved_on,
                  tag = case when excluded.status in ('forgotten', 'expired') then null
                             else coalesce(excluded.tag, m.tag) end""",
            scope.tenant_id,
            scope.subject_id,
            [_tag(tags.get(fact.event_id), fact) for fact in changed],
            *([_column(fact, name) for fact in changed] for name in _FIELDS),
        )
        await connection.execute(
            f"insert into {place}.subject values ($1, $2, $3)"
            " on conflict (tenant_id, subject_id) do update set applied = excluded.applied",
            scope.tenant_id,
            scope.subject_id,
            events[-1].version,
        )


def _tag(tag: str | None, fact: Fact) -> bytes | None:
    return bytes.fromhex(tag) if tag is not None and fact.status not in STONES else None


def _column(fact: Fact, name: str) -> object:
    value = getattr(fact, name)
    return "{" + ",".join(map(str, value)) + "}" if name == "cites" else value


def fact_from(columns: Iterable[Any]) -> Fact:
    """Read a row back that has the `COLUMNS` of a fact, in their order; a recall reads hundreds."""
    values = list(columns)
    values[_KIND] = _KINDS[values[_KIND]]
    values[_CITES] = tuple(values[_CITES])
    return Fact(*values)


def _state(rows: Iterable[Row]) -> State:
    facts = (fact_from(row.values()) for row in rows)
    return {(fact.memory_id, fact.version): fact for fact in facts}


async def read_memories(
    connection: Connection, scope: Scope, memories: Collection[MemoryId], place: str = "facts"
) -> State:
    """Read every version of some memories of one person."""
    rows = await connection.fetch(
        f"select {COLUMNS} from {place}.memory"
        " where tenant_id = $1 and subject_id = $2 and memory_id = any($3::uuid[])",
        scope.tenant_id,
        scope.subject_id,
        list(memories),
    )
    return _state(rows)


async def memories_of_turns(connection: Connection, scope: Scope, turns: Collection[TurnId], each: int) -> State:
    """Read the current memories of one person that were said in some turns: of each turn the `each` most important.

    Every version of them is read, as `read_memories` does.
    """
    rows = await connection.fetch(
        f"""select {COLUMNS} from facts.memory where tenant_id = $1 and subject_id = $2 and memory_id = any(array(
              select m.memory_id from unnest($3::uuid[]) t(turn_id) cross join lateral (
                select memory_id from facts.memory
                where tenant_id = $1 and subject_id = $2 and turn_id = t.turn_id
                  and status in ('current', 'in_conflict')
                order by importance desc, memory_id limit $4) m))""",
        scope.tenant_id,
        scope.subject_id,
        list(turns),
        each,
    )
    return _state(rows)


async def read_living(connection: Connection, scope: Scope, tags: Collection[bytes], recent: int) -> State:
    """Read the current and held memories of one person that carry one of these tags, and the most recent others."""
    rows = await connection.fetch(
        f"""(select {COLUMNS} from facts.memory
             where tenant_id = $1 and subject_id = $2 and status in {_LIVING} and tag = any($3::bytea[]))
            union all
            (select {COLUMNS} from facts.memory where tenant_id = $1 and subject_id = $2 and status in {_LIVING}
             order by recorded_at desc, memory_id limit $4)""",
        scope.tenant_id,
        scope.subject_id,
        list(tags),
        recent,
    )
    return _state(rows)


async def read_kinds(connection: Connection, scope: Scope, kinds: Collection[Kind]) -> State:
    """Read the current and held memories of one person that are of some kinds."""
    rows = await connection.fetch(
        f"""select {COLUMNS} from facts.memory
            where tenant_id = $1 and subject_id = $2 and status in {_LIVING} and kind = any($3::text[])""",
        scope.tenant_id,
        scope.subject_id,
        list(kinds),
    )
    return _state(rows)


async def count_living(connection: Connection, scope: Scope) -> dict[Kind, int]:
    """Count one person's memories that are current or in conflict, by kind."""
    rows = await connection.fetch(
        """select kind, count(*) as n from facts.memory where tenant_id = $1 and subject_id = $2
           and status in ('current', 'in_conflict') group by kind""",
        scope.tenant_id,
        scope.subject_id,
    )
    return {Kind(row["kind"]): row["n"] for row in rows}


async def read_page(
    connection: Connection,
    scope: Scope,
    statuses: Collection[str],
    limit: int,
    before: tuple[datetime, UUID, int] | None,
) -> State:
    """Read one page of memory versions of some statuses, newest first, behind a place of an earlier page."""
    at, memory, version = before or (None, None, None)
    rows = await connection.fetch(
        f"""select {COLUMNS} from facts.memory where tenant_id = $1 and subject_id = $2 and status = any($3::text[])
            and ($4::timestamptz is null or (recorded_at, memory_id, version) < ($4, $5::uuid, $6::integer))
            order by recorded_at desc, memory_id desc, version desc limit $7""",
        scope.tenant_id,
        scope.subject_id,
        list(statuses),
        at,
        memory,
        version,
        limit,
    )
    return _state(rows)


async def newer_events(connection: Connection, scope: Scope) -> tuple[list[StoredEvent], int]:
    """Read what the facts table has not folded yet, and the version the person's memory stream has reached."""
    applied: int = (
        await connection.fetchval(
            "select applied from facts.subject where tenant_id = $1 and subject_id = $2",
            scope.tenant_id,
            scope.subject_id,
        )
        or 0
    )
    events = await read_stream(connection, scope, f"memory/{scope.subject_id}", applied)
    known, _ = readable(events)  # what the table passes over is passed over here too
    return known, events[-1].version if events else applied
