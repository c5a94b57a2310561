"""What a read model is: it follows the sealed log, and can be lost and rebuilt from it (R71)."""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import ClassVar, Final, Literal, Protocol, get_args

from events.envelope import StoredEvent
from events.model import Tombstoned
from events.postgres import Connection

ReadModel = Literal["facts", "keywords", "sessions", "tasks", "vectors"]
"""The name of every read model; `ops/composition/` makes one of each."""

_TABLE: Final = re.compile(r"create table \{schema\}\.(\w+)")

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


async def take(projection: Projection, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
    """Let a read model take a batch, and drop what is theirs of people and tenants that were forgotten as a whole.

    Nothing of them comes behind their tombstone, so the order within the batch does not matter.
    """
    await projection.apply(connection, place, events)
    if isinstance(projection, Tables):
        for stored in events:
            if isinstance(stored.event, Tombstoned) and stored.event.whole:
                await projection.bury(connection, place, stored)


class Tables:
    """What read models in Postgres share: one schema each, made from one SQL file, swapped by renaming.

    Every table has the columns `tenant_id` and `subject_id`.
    """

    name: ClassVar[str]

    async def bury(self, connection: Connection, place: str, tombstone: StoredEvent) -> None:
        """Drop every row of a person or of a tenant."""
        person = isinstance(tombstone.event, Tombstoned) and tombstone.event.scope == "person"
        for table in _TABLE.findall(self._sql()):
            await connection.execute(
                f"delete from {place}.{table} where tenant_id = $1 and ($2::uuid is null or subject_id = $2)",
                tombstone.scope.tenant_id,
                tombstone.scope.subject_id if person else None,
            )

    async def create(self, connection: Connection, place: str) -> None:
        """Make the schema with empty tables, dropping what an interrupted rebuild left there."""
        await connection.execute(f"drop schema if exists {place} cascade")
        await connection.execute(self._sql().replace("{schema}", place))

    def _sql(self) -> str:
        return files("projections").joinpath("sql", f"{self.name}.sql").read_text(encoding="utf-8")

    async def swap(self, connection: Connection, place: str, built: str) -> str:
        """Rename the rebuilt schema over the old one."""
        await connection.execute(f"drop schema {place} cascade")
        await connection.execute(f"alter schema {built} rename to {place}")
        return place
