"""The register of exports: which left when, for what, and which memories they hold. Ids and numbers only (R46)."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from uuid import UUID

from events.log import fenced
from events.model import MemoryId, Scope, SubjectId, TenantId
from events.postgres import Connection, Database
from services.wire.exports import ExportDetail, ExportHead, ExportPage, ExportView, Line

_LISTED = 100
_COLUMNS = "e.export_id, e.purpose, e.at, e.digest"
_MEMORIES = "(select count(*) from ops.exported x where x.export_id = e.export_id) as memories"

Owner = Scope | TenantId
"""Whose export: a person's own, or a tenant's over the persons who agreed."""


class Register:
    """Writes down what leaves, and says what of it has been forgotten since.

    Args:
        reader: a pool under `cenotaph_reader`.
    """

    def __init__(self, reader: Database) -> None:
        self._reader = reader

    async def open(self, owner: Owner, head: ExportHead) -> None:
        """Register an export before its first line."""
        tenant, subject = _ids(owner)
        async with self._as(owner) as connection:
            await connection.execute(
                "insert into ops.export (export_id, tenant_id, subject_id, purpose, at) values ($1, $2, $3, $4, $5)",
                head.export_id,
                tenant,
                subject,
                head.purpose,
                head.at,
            )

    async def add(self, export_id: UUID, scope: Scope, lines: Sequence[Line]) -> set[MemoryId]:
        """Register some lines; return the memories that were forgotten meanwhile, and so must not leave.

        The registration is committed before the fence is asked: whatever is forgotten later finds it.
        """
        async with self._reader.transaction(scope) as connection:
            await connection.execute(
                "insert into ops.exported (export_id, tenant_id, subject_id, memory_id, version)"
                " select $1, $2, $3, t.memory_id, t.version"
                " from unnest($4::uuid[], $5::integer[]) as t(memory_id, version)"
                " on conflict do nothing",
                export_id,
                scope.tenant_id,
                scope.subject_id,
                [line.memory_id for line in lines],
                [line.version for line in lines],
            )
        async with self._reader.transaction(scope) as connection:
            return {MemoryId(each) for each in await fenced(connection, scope, [line.memory_id for line in lines])}

    async def close(self, owner: Owner, export_id: UUID, digest: str) -> None:
        """Note that an export left whole."""
        async with self._as(owner) as connection:
            await connection.execute("update ops.export set digest = $2 where export_id = $1", export_id, digest)

    async def page(self, owner: Owner) -> ExportPage:
        """List the newest exports of an owner."""
        async with self._as(owner) as connection:
            rows = await connection.fetch(
                f"select {_COLUMNS}, {_MEMORIES} from ops.export e order by e.at desc, e.export_id limit $1",  # noqa: S608 - our own columns
                _LISTED,
            )
        return ExportPage(exports=tuple(ExportView(**row) for row in rows))

    async def show(self, owner: Owner, export_id: UUID) -> ExportDetail | None:
        """Show one export, and which of its lines have been forgotten by now; None where the owner has none such."""
        async with self._as(owner) as connection:
            row = await connection.fetchrow(
                f"select {_COLUMNS}, {_MEMORIES} from ops.export e where e.export_id = $1",  # noqa: S608 - our own columns
                export_id,
            )
            if row is None:
                return None
            rows = await connection.fetch(
                "select subject_id, memory_id, version from ops.exported where export_id = $1"
                " order by subject_id, memory_id, version",
                export_id,
            )
        tenant, _ = _ids(owner)
        forgotten: list[Line] = []
        for subject, own in groupby(rows, lambda each: SubjectId(each["subject_id"])):
            lines = [Line(memory_id=MemoryId(each["memory_id"]), version=each["version"]) for each in own]
            scope = Scope(tenant_id=tenant, subject_id=subject)
            async with self._reader.transaction(scope) as connection:
                gone = await fenced(connection, scope, {line.memory_id for line in lines})
            forgotten += [line for line in lines if line.memory_id in gone]
        return ExportDetail(**row, forgotten=tuple(forgotten))

    @asynccontextmanager
    async def _as(self, owner: Owner) -> AsyncIterator[Connection]:
        """Open a transaction of a person, or of a tenant: then nothing but its part of this register can be read."""
        if isinstance(owner, Scope):
            async with self._reader.transaction(owner) as connection:
                yield connection
            return
        async with self._reader.transaction() as connection:
            await connection.execute(
                "select set_config('cenotaph.tenant', $1, true), set_config('cenotaph.subject', 'tenant', true)",
                str(owner),
            )
            yield connection


def _ids(owner: Owner) -> tuple[TenantId, SubjectId | None]:
    return (owner.tenant_id, owner.subject_id) if isinstance(owner, Scope) else (owner, None)
