"""The layer of files that left: what is forgotten is barred from the next, and the receipt names those that hold it.

What lies in a file outside cannot be erased from here. So the layer is `masked` at best where one holds it (R46).
"""

from collections.abc import Sequence
from typing import ClassVar
from uuid import UUID

from events.envelope import StoredEvent
from events.model import LayerFinding
from events.postgres import Database, readers_of
from services.forgetting.layers import State, finding
from services.forgetting.question import Question

_UNBARRED = "select count(*) from ops.exported where memory_id = any($1::uuid[]) and barred_at is null"
_EXPORTS = "select distinct export_id from ops.exported where memory_id = any($1::uuid[]) order by export_id"
_VERSIONS = "select distinct version from ops.exported where memory_id = any($1::uuid[]) order by version"


class Exported:
    """Notes in the register that a memory is forgotten."""

    name: ClassVar[str] = "exports"

    def __init__(self, eraser: Database) -> None:
        self._eraser = eraser

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Bar it: from the fence on no export takes it, and from now on the register says so."""
        async with self._eraser.connection() as connection:
            await connection.execute(
                "update ops.exported set barred_at = $2 where memory_id = any($1::uuid[]) and barred_at is null",
                list(question.memories),
                tombstone.recorded_at,
            )


class ExportProbe:
    """Reads the register over the prober's own connection."""

    layer: ClassVar[str] = "exports"

    def __init__(self, prober: Database) -> None:
        self._prober = prober

    async def ask(self, question: Question) -> LayerFinding:
        """Count lines that are not barred, and name the exports that hold it."""
        memories = list(question.memories)
        async with self._prober.connection() as connection:
            unbarred: int = await connection.fetchval(_UNBARRED, memories)
            exports = [UUID(str(row["export_id"])) for row in await connection.fetch(_EXPORTS, memories)]
            versions = [row["version"] for row in await connection.fetch(_VERSIONS, memories)]
        state: State = "masked" if exports else "absent"
        checks = {"unbarred": unbarred, "exports": len(exports)}
        queries = {"unbarred": _UNBARRED, "exports": _EXPORTS}
        return finding(self.layer, checks, state, queries, versions=versions, holders=exports)

    async def readers(self) -> Sequence[str]:
        """Name the roles that may read the register; who has the files is not known."""
        async with self._prober.connection() as connection:
            return await readers_of(connection, "ops.exported")
