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

_NAMED = "(memory_id = any($1::uuid[]) or (tenant_id = $2 and ($3::uuid is null or subject_id = $3)))"
_UNBARRED = "select count(*) from ops.exported where {_NAMED} and barred_at is null".replace("{_NAMED}", _NAMED)
_EXPORTS = "select distinct export_id from ops.exported where {_NAMED} order by export_id".replace("{_NAMED}", _NAMED)
_VERSIONS = "select distinct version from ops.exported where {_NAMED} order by version".replace("{_NAMED}", _NAMED)
_BAR = "update ops.exported set barred_at = $4 where {_NAMED} and barred_at is null".replace("{_NAMED}", _NAMED)


class Exported:
    """Notes in the register that a memory is forgotten."""

    name: ClassVar[str] = "exports"

    def __init__(self, eraser: Database) -> None:
        self._eraser = eraser

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Bar it: from the fence on no export takes it, and from now on the register says so."""
        async with self._eraser.connection() as connection:
            await connection.execute(
                _BAR,
                *_named(question),
                tombstone.recorded_at,
            )


class ExportProbe:
    """Reads the register over the prober's own connection."""

    layer: ClassVar[str] = "exports"

    def __init__(self, prober: Database) -> None:
        self._prober = prober

    async def ask(self, question: Question) -> LayerFinding:
        """Count lines that are not barred, and name the exports that hold it."""
        named = _named(question)
        async with self._prober.connection() as connection:
            unbarred: int = await connection.fetchval(_UNBARRED, *named)
            exports = [UUID(str(row["export_id"])) for row in await connection.fetch(_EXPORTS, *named)]
            versions = [row["version"] for row in await connection.fetch(_VERSIONS, *named)]
        state: State = "masked" if exports else "absent"
        checks = {"unbarred": unbarred, "exports": len(exports)}
        queries = {"unbarred": _UNBARRED, "exports": _EXPORTS}
        return finding(self.layer, checks, state, queries, versions=versions, holders=exports)

    async def readers(self) -> Sequence[str]:
        """Name the roles that may read the register; who has the files is not known."""
        async with self._prober.connection() as connection:
            return await readers_of(connection, "ops.exported")


def _named(question: Question) -> tuple[object, object, object]:
    """Say what the queries look for: memories by their ids, or all of a person or a tenant."""
    return list(question.memories), question.scope.tenant_id if question.whole else None, question.person
