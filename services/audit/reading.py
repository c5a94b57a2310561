"""Reading a sealed log for its check, batch by batch; bodies stay sealed."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from events.checkpointer import CHECKPOINTS, COSIGNATURES, SIGNING_KEYS
from events.envelope import StoredEvent, stored
from events.errors import TamperError
from events.keychain import KeyChain
from events.origins import origins, own
from events.place import Place
from events.postgres import Connection, Database
from services.audit.envelopes import keys_of_stone, targets_of
from services.audit.evidence import Evidence, Source, Trust, judge
from services.audit.faults import Faults, Kind
from services.audit.report import Report, report_of
from services.audit.rows import Body, Chunk, Head, Row, Stores, digest
from services.audit.verify import Audit

_ROWS = """
select s.position, e.tenant_id, e.subject_id, e.stream, e.version, e.event_id, e.command_id, e.ordinal, e.type,
       e.schema_version, e.occurred_at, e.recorded_at, e.envelope, e.leaf
from log.sealed s join log.event e using (seq) where s.position >= $1 and s.position < $2 order by s.position
"""
_BODIES = """
select event_id, part, tenant_id, subject_id, key_id, ciphertext from log.body where event_id = any($1::uuid[])
"""
_FENCED = """
select f.tenant_id, f.target, e.event_id, e.envelope from log.fence f
join unnest($1::uuid[], $2::uuid[]) as t(tenant_id, target) using (tenant_id, target)
left join log.event e on e.event_id = f.event_id
"""
# every node whose last leaf lies in [$1, $2)
_NODES = """
select n.level, n.index, n.hash from generate_series(0, $3::integer) as l(level)
join log.node n on n.level = l.level and n.index >= $1::bigint >> l.level and n.index < $2::bigint >> l.level
"""
_UNSEALED = """
select count(*) from log.event e left join log.sealed s using (seq) left join log.unsealed u using (seq)
where s.seq is null and u.seq is null
"""
_STRANGE_BODIES = """
select count(*) from log.body b where not exists (select from log.event e where e.event_id = b.event_id)
"""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Copies:
    """What lies in the second place, and what the auditor held already."""

    introductions: Sequence[str] = ()
    checkpoints: Sequence[tuple[Source, str]] = field(default=())


def copies(place: Place, held: Sequence[str] = ()) -> Copies:
    """Read the second place. Do so before the log: a checkpoint that is younger than the snapshot would not fit it."""
    return Copies(
        tuple(_notes(place, SIGNING_KEYS)),
        (
            *((Source.PLACE, note) for note in _notes(place, CHECKPOINTS)),
            *((Source.WITNESS, note) for note in _notes(place, COSIGNATURES)),
            *((Source.HELD, note) for note in held),
        ),
    )


async def copies_of(database: Database, place: Place, held: Sequence[str] = ()) -> Copies:
    """Read what the second place has of one log, which says itself which part is its own; otherwise like `copies`.

    Args:
        database: the log, as a role that may read it.
        place: the second place.
        held: checkpoints the auditor held already.

    Raises:
        CenotaphError: it is not the second place of this log.
    """
    async with database.connection() as connection:
        part = await own(connection, place)
    return copies(part, held)


def part_of(place: Place, origin: str) -> Place | None:
    """Find the part of the second place in which an origin of that name signs; None where there is none."""
    for part in origins(place):
        chain, _ = KeyChain.follow(tuple(_notes(part, SIGNING_KEYS)))
        if chain.first is not None and chain.first.name == origin:
            return part
    return None


def _notes(place: Place, kind: str) -> Iterator[str]:
    return ((place.get(name) or b"").decode("utf-8", "replace") for name in place.names(kind))


@asynccontextmanager
async def snapshot(database: Database) -> AsyncIterator[Connection]:
    """Open a connection that sees one moment, however long the check takes."""
    async with database.connection() as connection:
        await connection.execute("begin isolation level repeatable read read only")
        try:
            yield connection
        finally:
            await connection.execute("rollback")


async def verify(
    connection: Connection,
    there: Copies,
    trust: Trust,
    progress: Progress = lambda _done, _of: None,
    batch: int = 1000,
) -> Report:
    """Check a whole log as far as it is sealed.

    Args:
        connection: one that may read the log, its tree and its head, as `snapshot` opens it.
        there: what lies outside the database.
        trust: the pinned key and the witnesses.
        progress: called with positions done and positions to do.
        batch: how many positions are held at once.
    """
    faults = Faults()
    evidence = await evidence_of(connection, there, trust, faults)
    return await check(connection, evidence, faults, progress, trust=trust, batch=batch)


async def check(
    connection: Connection, evidence: Evidence, faults: Faults, progress: Progress, *, trust: Trust, batch: int = 1000
) -> Report:
    """Check a whole log against what was judged already; otherwise like `verify`."""
    audit = Audit(evidence.marks, faults)
    head = await head_of(connection)
    for start in range(0, head.size, batch):
        end = min(start + batch, head.size)
        audit.take(await _chunk(connection, start, end))
        progress(end, head.size)
    audit.finish(head)
    await _strays(connection, head, faults)
    return report_of(audit, evidence, trust, faults)


async def evidence_of(connection: Connection, there: Copies, trust: Trust, faults: Faults) -> Evidence:
    """Judge everything that was signed, in the log and outside it."""
    introductions = {
        Source.LOG: [row["note"] for row in await connection.fetch("select note from log.signing_key order by number")],
        Source.PLACE: there.introductions,
    }
    rows = await connection.fetch("select note from log.checkpoint order by size")
    return judge(introductions, [*((Source.LOG, row["note"]) for row in rows), *there.checkpoints], trust, faults)


async def head_of(connection: Connection) -> Head:
    """Read the head."""
    row = await connection.fetchrow("select size, frontier, root from log.head")
    assert row is not None, "the head row is made with the schema"  # noqa: S101 - narrows the type
    return Head(row["size"], tuple(row["frontier"]), row["root"])


async def _chunk(connection: Connection, start: int, end: int) -> Chunk:
    rows = [_row(dict(row)) for row in await connection.fetch(_ROWS, start, end)]
    nodes = await connection.fetch(_NODES, start, end, end.bit_length())
    return Chunk(
        end,
        rows,
        {(node["level"], node["index"]): node["hash"] for node in nodes},
        await _stores(connection, rows),
    )


def _row(found: dict[str, object]) -> Row:
    position, envelope = found.pop("position"), found.pop("envelope")
    assert isinstance(position, int), "a bigint"  # noqa: S101 - narrows the type
    assert isinstance(envelope, bytes), "a bytea"  # noqa: S101 - narrows the type
    return Row(position, envelope, found)


async def _stores(connection: Connection, rows: Sequence[Row]) -> Stores:
    events = list(_readable(rows))
    bodies = [
        Body(
            event_id=row["event_id"],
            part=row["part"],
            tenant_id=row["tenant_id"],
            subject_id=row["subject_id"],
            key_id=row["key_id"],
            digest=digest(row["ciphertext"]),
        )
        for row in await connection.fetch(_BODIES, [event.event_id for event in events])
    ]
    there = {(body.event_id, body.part) for body in bodies}
    asked = {
        (event.scope.tenant_id, target)
        for event in events
        for target in (
            *targets_of(event),
            *(
                each
                for part in event.parts
                if (event.event_id, part.name) not in there
                for each in (part.key_id, event.scope.subject_id, event.scope.tenant_id)
            ),
        )
    }
    fences = await connection.fetch(_FENCED, [tenant for tenant, _ in asked], [target for _, target in asked])
    stones = {row["event_id"]: keys_of_stone(row["envelope"]) for row in fences if row["event_id"] is not None}
    named = {(stone[0], key) for stone in stones.values() if stone is not None for key in stone[1]}
    return Stores(bodies, {(row["tenant_id"], row["target"]) for row in fences}, named & asked)


def _readable(rows: Sequence[Row]) -> Iterator[StoredEvent]:
    for row in rows:
        with suppress(TamperError):  # whatever is wrong with it, the check will say
            yield stored(row.envelope, row.position)


async def _strays(connection: Connection, head: Head, faults: Faults) -> None:
    """Look for what no position leads to."""
    beyond = await connection.fetchval("select count(*) from log.sealed where position >= $1", head.size)
    if beyond:
        faults.add(Kind.INSERTED, head.size, f"{beyond} events have positions behind the end of the head")
    if unsealed := await connection.fetchval(_UNSEALED):
        faults.add(Kind.UNSEALED, None, f"{unsealed} events have no position and wait for none")
    if strange := await connection.fetchval(_STRANGE_BODIES):
        faults.add(Kind.BODY_UNKNOWN, None, f"{strange} bodies belong to no event")
