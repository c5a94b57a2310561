"""What a read model is: it follows the sealed log, and can be lost and rebuilt from it (R71)."""

from collections.abc import Sequence
from importlib.resources import files
from typing import ClassVar, Final, Literal, Protocol, get_args

from events.envelope import StoredEvent
from events.postgres import Connection

ReadModel = Literal["facts", "keywords", "sessions", "tasks", "vectors"]
"""The name of every read model; `ops/composition.py` makes one of each."""

READ_MODELS: Final[tuple[ReadModel, ...]] = get_args(ReadModel)


class Projection(Protocol):
    """A read model with a name and a version of its layout.

    `apply` runs inside the transaction that also moves the checkpoint. Effects outside Postgres must be idempotent by
    position, because that transaction may be rolled back and repeated.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    async def create(self, connection: Connection, place: str) -> None:
        """Make an empty instance at a place (a schema, a collection)."""

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Take a batch of events, in order of position."""

    async def swap(self, connection: Connection, place: str, built: str) -> str:
        """Put the rebuilt instance in place of the old one, drop the old, and return the place that now serves."""


class Tables:
    """What read models in Postgres share: one schema each, made from one SQL file, swapped by renaming."""

    name: ClassVar[str]

    async def create(self, connection: Connection, place: str) -> None:
        """Make the schema with empty tables, dropping what an interrupted rebuild left there."""
        await connection.execute(f"drop schema if exists {place} cascade")
        sql = files("projections").joinpath("sql", f"{self.name}.sql").read_text(encoding="utf-8")
        await connection.execute(sql.replace("{schema}", place))

    async def swap(self, connection: Connection, place: str, built: str) -> str:
        """Rename the rebuilt schema over the old one."""
        await connection.execute(f"drop schema {place} cascade")
        await connection.execute(f"alter schema {built} rename to {place}")
        return place
