"""Reading a sealed log for its check; bodies stay sealed."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import UUID

from events import canon
from events.errors import TamperError
from events.model import KeyId, TenantId
from events.postgres import Connection
from services.audit.verify import Audit, Body, Chunk, Fault, Head, Row, digest

_ROWS = """
select s.position, e.tenant_id, e.subject_id, e.stream, e.version, e.event_id, e.command_id, e.ordinal, e.type,
       e.schema_version, e.occurred_at, e.recorded_at, e.envelope, e.leaf
from log.sealed s join log.event e using (seq) where s.position >= $1 and s.position < $2 order by s.position
"""
_BODIES = """
select event_id, part, tenant_id, subject_id, key_id, ciphertext from log.body where event_id = any($1::uuid[])
"""
_FENCED = """
select f.tenant_id, f.target from log.fence f
join unnest($1::uuid[], $2::uuid[]) as t(tenant_id, target) using (tenant_id, target)
"""
# every node whose last leaf lies in [$1, $2)
_NODES = """
select n.level, n.index, n.hash from generate_series(0, $3::integer) as l(level)
join log.node n on n.level = l.level and n.index >= $1::bigint >> l.level and n.index < $2::bigint >> l.level
"""
_STRAY = """
select count(*) from log.event e left join log.sealed s using (seq) left join log.unsealed u using (seq)
where s.seq is null and u.seq is null
"""


async def audit(
    connection: Connection,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
    batch: int = 1000,
) -> tuple[Audit, list[Fault]]:
    """Check a whole log as far as it is sealed now; return what was counted and what is wrong, first position first.

    Args:
        connection: one that may read the log, its tree and its head: the owner's.
        progress: called with positions done and positions to do.
        batch: how many positions are read at once.
    """
    found, faults = Audit(), list[Fault]()
    head = await _head(connection)
    for start in range(0, head.size, batch):
        end = min(start + batch, head.size)
        faults += found.take(await _chunk(connection, start, end))
        progress(end, head.size)
    faults += found.finish(head)
    if stray := await connection.fetchval(_STRAY):
        faults.append(Fault(None, f"{stray} events have no position and wait for none"))
    return found, faults


async def _head(connection: Connection) -> Head:
    row = await connection.fetchrow("select size, frontier, root from log.head")
    assert row is not None, "the head row is made with the schema"  # noqa: S101 - narrows the type
    return Head(row["size"], tuple(row["frontier"]), row["root"])


async def _chunk(connection: Connection, start: int, end: int) -> Chunk:
    rows = [Row(**dict(row)) for row in await connection.fetch(_ROWS, start, end)]
    # bodies before fences: whoever removed a body in between had fenced its key before
    bodies = [
        Body(
            event_id=row["event_id"],
            part=row["part"],
            tenant_id=row["tenant_id"],
            subject_id=row["subject_id"],
            key_id=row["key_id"],
            digest=digest(row["ciphertext"]),
        )
        for row in await connection.fetch(_BODIES, [row.event_id for row in rows])
    ]
    nodes = await connection.fetch(_NODES, start, end, end.bit_length())
    return Chunk(
        rows,
        bodies,
        await _fenced(connection, rows),
        {(node["level"], node["index"]): node["hash"] for node in nodes},
    )


async def _fenced(connection: Connection, rows: Sequence[Row]) -> set[tuple[TenantId, KeyId]]:
    keys = {(TenantId(row.tenant_id), key) for row in rows for key in _keys(row)}
    found = await connection.fetch(_FENCED, [tenant for tenant, _ in keys], [key for _, key in keys])
    return {(TenantId(row["tenant_id"]), KeyId(row["target"])) for row in found}


def _keys(row: Row) -> list[KeyId]:
    with suppress(TamperError, KeyError, TypeError, ValueError):  # whatever is wrong with it, the check will say
        return [KeyId(UUID(part["key_id"])) for part in canon.decode(row.envelope)[0]["parts"]]
    return []
