"""The sealer: one at a time gives dense positions, extends the Merkle tree and notifies (R5, ADR 0001)."""

from collections.abc import Collection

from events import failpoint
from events.merkle import Range
from events.postgres import Connection, Database
from events.proof import Place

# an array, so that a planner without statistics does not read the whole table for what it would otherwise join
_TAKE = """
with taken as (
  delete from log.unsealed where seq = any(array(select seq from log.unsealed order by seq limit $1)) returning *
)
select seq, leaf from taken order by seq
"""
_GIVE = """
with position as (
  insert into log.sealed (position, seq)
  select $1::bigint + n - 1, seq from unnest($2::bigint[]) with ordinality as t(seq, n)
), node as (
  insert into log.node (level, index, hash) select * from unnest($3::smallint[], $4::bigint[], $5::bytea[])
), head as (
  update log.head set size = $6, frontier = $7, root = $8
)
select pg_notify('log', $6::bigint::text)
"""


class Sealer:
    """Seals what has arrived. Standbys may run beside it: the head row is the fence between them.

    Args:
        database: a pool under `cenotaph_sealer`.
        batch: the most events sealed in one transaction.
    """

    def __init__(self, database: Database, batch: int = 2000) -> None:
        self._database = database
        self.batch = batch

    async def seal(self) -> int:
        """Seal one batch; return how many events it held."""
        async with self._database.connection() as connection:
            if not await connection.fetchval("select exists (select from log.unsealed)"):
                return 0
            async with connection.transaction():
                head = await connection.fetchrow("select size, frontier from log.head for update")
                assert head is not None, "the head row is made with the schema"  # noqa: S101 - narrows the type
                rows = await connection.fetch(_TAKE, self.batch)
                if not rows:
                    return 0
                before = Range(head["size"], tuple(head["frontier"]))
                after, nodes = before.extend(row["leaf"] for row in rows)
                await connection.execute(
                    _GIVE,
                    before.size,
                    [row["seq"] for row in rows],
                    [node.level for node in nodes],
                    [node.index for node in nodes],
                    [node.hash for node in nodes],
                    after.size,
                    list(after.frontier),
                    after.root,
                )
                failpoint.hit("seal.commits")
        return len(rows)


async def read_nodes(connection: Connection, places: Collection[Place]) -> dict[Place, bytes]:
    """Read the hashes of complete subtrees by level and index; one that is not stored is left out."""
    rows = await connection.fetch(
        "select level, index, hash from log.node join unnest($1::smallint[], $2::bigint[]) as t(level, index)"
        " using (level, index)",
        [level for level, _ in places],
        [index for _, index in places],
    )
    return {(row["level"], row["index"]): row["hash"] for row in rows}
