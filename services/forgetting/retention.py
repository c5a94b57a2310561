"""How long reads are kept (R36): then a trace goes, and the row with it unless a turn that still has words names it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog

from events.postgres import Database

_BATCH = 500
# A forget must find the turns a memory was injected into as long as these have words (R41): such a row keeps its ids.
_OVER = """
with due as (
  select read_id, at, tenant_id, subject_id, trace is not null or cardinality(candidates) > 0 as traced from ops.read
  where at < $1 and (at, read_id) > ($2, $3::uuid) order by at, read_id limit $4
), needed as (
  select d.read_id from due d join sessions.turn t on t.contexts @> array[d.read_id] and cardinality(t.contexts) > 0
    and t.tenant_id = d.tenant_id and t.subject_id = d.subject_id
  where exists (select from sessions.message m
                where m.tenant_id = t.tenant_id and m.turn_id = t.turn_id and not m.forgotten)
), gone as (
  delete from ops.read r using due d where r.read_id = d.read_id and r.read_id not in (table needed) returning 1
), bare as (
  update ops.read r set trace = null, candidates = '{}' from due d
  where r.read_id = d.read_id and d.traced and r.read_id in (table needed) returning 1
)
select (select count(*) from gone) as gone, (select count(*) from bare) as bare, last.at, last.read_id, n.seen
from (select count(*) as seen from due) n left join lateral (
  select at, read_id from due order by at desc, read_id desc limit 1) last on true
"""
_START = (datetime.min.replace(tzinfo=UTC), UUID(int=0))
log = structlog.get_logger(__name__)


class Retention:
    """Ends the record of reads, oldest first, batch by batch; rows that stay are passed over until the next round.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        days: how long a read is kept.
    """

    def __init__(self, eraser: Database, days: int) -> None:
        self._eraser = eraser
        self._days = days
        self._after = _START

    async def step(self, now: datetime | None = None) -> int:
        """End one batch; return how many rows were looked at, so that the next one follows at once."""
        before = (now or datetime.now(UTC)) - timedelta(days=self._days)
        async with self._eraser.transaction() as connection:
            row = await connection.fetchrow(_OVER, before, *self._after, _BATCH)
        assert row is not None, "counts are always there"  # noqa: S101 - narrows the type
        self._after = (row["at"], row["read_id"]) if row["seen"] else _START
        if row["gone"] or row["bare"]:
            log.info("reads_ended", gone=row["gone"], bare=row["bare"])
        seen: int = row["seen"]
        return seen
