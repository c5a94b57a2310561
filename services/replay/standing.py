"""What the last comparison of each read model found, and what live ones passed over: numbers for whoever watches."""

from datetime import datetime

from events.model import Frozen, Position
from events.postgres import Connection
from services.replay.compare import Report


class Standing(Frozen):
    """How a read model stands; the last four are None until it was compared with the log."""

    model: str
    skipped: int
    position: Position | None = None
    compared: int | None = None
    differences: int | None = None
    compared_at: datetime | None = None


async def record(connection: Connection, report: Report) -> None:
    """Write down what a comparison found, in place of what the one before found."""
    await connection.execute(
        """insert into read_model.compared values ($1, $2, $3, $4, $5, $6)
           on conflict (name) do update set position = excluded.position, compared = excluded.compared,
             missing = excluded.missing, extra = excluded.extra, differing = excluded.differing, at = excluded.at""",
        report.model,
        report.position,
        report.compared,
        report.missing,
        report.extra,
        report.differing,
    )


async def standings(connection: Connection) -> list[Standing]:
    """Return how every follower of the log stands."""
    rows = await connection.fetch(
        """select p.name as model, coalesce(sum(s.events), 0)::bigint as skipped, c.position, c.compared,
                  c.missing + c.extra + c.differing as differences, c.at as compared_at
           from read_model.checkpoint p left join read_model.skipped s using (name, version)
           left join read_model.compared c using (name) where p.place <> 'nowhere'
           group by p.name, c.position, c.compared, c.missing, c.extra, c.differing, c.at order by p.name"""
    )
    return [Standing.model_validate(dict(row)) for row in rows]
