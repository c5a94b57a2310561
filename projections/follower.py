"""Following the log: one runner a read model, exactly-once effects, rebuilding beside the old one."""

from collections.abc import Callable

from events import failpoint
from events.errors import CenotaphError
from events.log import head, read_sealed
from events.model import Position
from events.postgres import Connection, Database
from projections.exclusive import exclusive
from projections.model import Projection, take
from projections.model_names import NOWHERE
from projections.unreadable import forget_notes, note, readable, require

_LOCK = "select position, place from read_model.checkpoint where name = $1 and version = $2 for update"


async def install(connection: Connection, projection: Projection, place: str) -> None:
    """Make an empty read model with a checkpoint before the first event (once, by the owner)."""
    await projection.create(connection, place)
    await connection.execute(
        "insert into read_model.checkpoint values ($1, $2, -1, $3) on conflict do nothing",
        projection.name,
        projection.version,
        place,
    )


async def position_of(connection: Connection, name: str) -> Position:
    """Return how far a read model has followed the log, -1 before the first event."""
    position: int | None = await connection.fetchval(
        "select max(position) from read_model.checkpoint where name = $1", name
    )
    return Position(-1 if position is None else position)


async def place_of(connection: Connection, name: str) -> str:
    """Return the schema or collection that serves a read model now."""
    place: str = await connection.fetchval(
        "select place from read_model.checkpoint where name = $1 order by version desc limit 1", name
    )
    return place


class Follower:
    """Applies the sealed tail to one read model.

    Args:
        projection: the read model.
        database: a pool under `cenotaph_projector`, or the owner's for a rebuild.
        batch: the most events applied in one transaction.
    """

    def __init__(self, projection: Projection, database: Database, batch: int = 500) -> None:
        self.projection = projection
        self._database = database
        self._batch = batch

    async def step(self) -> int:
        """Apply one batch in one transaction with the checkpoint; return how many events it held.

        Events this build cannot read are passed over and written down (`projections/unreadable.py`). A read model that
        is nowhere now follows nothing.
        """
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(_LOCK, self.projection.name, self.projection.version)
            if row is None:
                raise CenotaphError(f"read model {self.projection.name} is not installed; run the migrations")
            if row["place"] == NOWHERE:
                return 0
            return await self._advance(connection, Position(row["position"]), row["place"])

    async def catch_up(self) -> int:
        """Apply everything that is sealed now; return how many events that were."""
        total = 0
        while (count := await self.step()) > 0:
            total += count
        return total

    async def rebuild(self, progress: Callable[[int, int], None] = lambda _done, _of: None) -> int:
        """Build the read model anew beside the old one, then swap; return how many events it holds.

        Readers and the live follower go on with the old one until the swap. An interrupted rebuild is simply repeated.

        Args:
            progress: called with positions done and positions to do.

        Raises:
            UnknownEventError: this build does not know an event's type or version; the old one goes on serving.
            TamperError: an event does not have the form of its version.
            CenotaphError: another process rebuilds or compares this read model.
        """
        async with exclusive(self._database, self.projection.name):
            return await self._rebuild(progress)

    async def _rebuild(self, progress: Callable[[int, int], None]) -> int:
        projection = self.projection
        async with self._database.connection() as connection:
            row = await connection.fetchrow(
                "select place from read_model.checkpoint where name = $1 and version = $2",
                projection.name,
                projection.version,
            )
            if row is None:
                raise CenotaphError(f"read model {projection.name} is not installed; run the migrations")
            built = f"{row['place']}_next" if not row["place"].endswith("_next") else row["place"].removesuffix("_next")
            await projection.create(connection, built)
        position, end = Position(-1), await self._end()
        while position < end:
            async with self._database.transaction() as connection:
                events = require(await read_sealed(connection, position, self._batch))
                await take(projection, connection, built, events)
            position = events[-1].position or Position(0)
            progress(position + 1, end + 1)
        async with self._database.transaction() as connection:
            live = await connection.fetchrow(_LOCK, projection.name, projection.version)
            assert live is not None, "the checkpoint was read above"  # noqa: S101 - narrows the type
            while events := require(await read_sealed(connection, position, self._batch)):
                await take(projection, connection, built, events)
                position = events[-1].position or Position(0)
            place = await projection.swap(connection, live["place"], built)
            await self._mark(connection, position, place)
            await forget_notes(connection, projection.name, projection.version)
        return position + 1

    async def _end(self) -> Position:
        async with self._database.connection() as connection:
            return await head(connection)

    async def _advance(self, connection: Connection, position: Position, place: str) -> int:
        events = await read_sealed(connection, position, self._batch)
        if events:
            known, unknown = readable(events)
            await note(connection, self.projection.name, self.projection.version, unknown)
            await take(self.projection, connection, place, known)
            failpoint.hit(f"follow.{self.projection.name}")
            await self._mark(connection, events[-1].position or Position(0), place)
        return len(events)

    async def _mark(self, connection: Connection, position: Position, place: str) -> None:
        await connection.execute(
            "update read_model.checkpoint set position = $3, place = $4 where name = $1 and version = $2",
            self.projection.name,
            self.projection.version,
            position,
            place,
        )
