"""Loading the log's part: one transaction, in which nothing that was forgotten is ever written (R44)."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from uuid import UUID

from events import failpoint
from events.envelope import Command, NewEvent
from events.errors import TamperError
from events.log import append
from events.model import CommandId, Restored
from events.origins import STREAM
from events.postgres import Connection
from ops.backup.copyfile import HEADER, TRAILER, Row, encode, rows_of
from ops.backup.manifest import Listed, Manifest
from services.audit.evidence import Evidence, Trust
from services.audit.faults import Faults
from services.audit.reading import Progress, check
from services.forgetting.second_place import Tombstones
from services.remembering.policies import SYSTEM

_ACTOR = "restore"
_OWN = frozenset({"log.checkpoint", "log.copied", "log.signing_key"})  # of the old origin; they lie in the second place
_SEALED = frozenset({"ciphertext", "key_id"})
_WHOSE = frozenset({"key_id", "subject_id", "tenant_id"})
_AT_ONCE = 500
_PIECE = 1 << 20
_FORCED = """
select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relforcerowsecurity and n.nspname in ('log', 'ops')"""
_NUMBER = """
select setval(pg_get_serial_sequence('log.event', 'seq'), coalesce(max(seq), 1), max(seq) is not null) from log.event"""

# what a deletion without a receipt is to ask for was left out: only probes that had been sealed before may still ask
_UNASKED = """
insert into ops.erasure (tombstone, tenant_id, subject_id, memory_id, requested_at, unasked)
select event_id, tenant_id, subject_id,
       (convert_from(substring(envelope from 1 for octet_length(envelope) - 16), 'UTF8')::jsonb
         #>> '{data,memories,0}')::uuid,
       recorded_at, 'restored'
from log.event where type = 'tombstoned'
on conflict (tombstone) do update set unasked = coalesce(ops.erasure.unasked, 'restored')
  where ops.erasure.propagated_at is null and ops.erasure.closed_at is null and ops.erasure.probe is null"""


@dataclass(frozen=True)
class Loading:
    """Loads one backup.

    Args:
        manifest: of the log's part, checked.
        folder: where it lies.
        stones: the tombstones of the second place.
        evidence: what was signed of this log up to the backup.
        restore_id: the command that the new origin begins with.
    """

    manifest: Manifest
    folder: Path
    stones: Tombstones
    evidence: Evidence
    restore_id: UUID

    async def load(self, connection: Connection, progress: Progress) -> None:
        """Load everything; whatever a tombstone names is left out before it is written.

        Raises:
            TamperError: the log is not what was sealed and signed, or the second place lacks a tombstone it had.
        """
        forced = [row["name"] for row in await connection.fetch(_FORCED)]
        for table in forced:  # COPY does not write where row-level security is forced on the owner too
            await connection.execute(f"alter table {table} no force row level security")
        await connection.execute("delete from log.head")
        files = [listed for listed in self.manifest.files if listed.table not in _OWN]
        for listed in files:
            if not _holds_sealed(listed):
                await self._copy_in(connection, listed, frozenset())
        await connection.execute(_NUMBER)
        await self._bury(connection)
        gone = frozenset(row["target"] for row in await connection.fetch("select target from log.fence"))
        for listed in files:
            if _holds_sealed(listed):
                await self._copy_in(connection, listed, gone)
        for table in forced:
            await connection.execute(f"alter table {table} force row level security")
        # the probes' keys of a tenant that is gone are gone with it
        await connection.execute(
            "update ops.erasure set probe = null, probe_key = null where tenant_id = any($1::uuid[])", list(gone)
        )
        await connection.execute(_UNASKED)
        await connection.execute(
            "update ops.backup set ended_at = $2, size = $3 where backup_id = $1",
            self.manifest.backup_id,
            self.manifest.ended,
            self.manifest.size,
        )
        await self._verify(connection, progress)
        failpoint.hit("restore.loaded")

    async def _bury(self, connection: Connection) -> None:
        """Append what the second place knows and the backup does not, behind the event that begins the new origin."""
        known = {
            row["event_id"]
            for row in await connection.fetch("select event_id from log.event where type = 'tombstoned'")
        }
        there = dict(self.stones.commands())
        done = await connection.fetch(
            "select tombstone from ops.erasure where destroyed_at is not null and tombstone = any($1::uuid[])",
            list(known),
        )
        for row in done:
            if row["tombstone"] not in there:
                raise TamperError(
                    f"the second place lacks tombstone {row['tombstone']}, which it had when the backup was taken, so"
                    " it is not whole; nothing was restored"
                )
        late = {event_id: command for event_id, command in there.items() if event_id not in known}
        restored = Restored(
            backup_id=self.manifest.backup_id,
            origin=self.manifest.origin,
            size=self.manifest.size,
            root=self.manifest.root,
            taken_at=self.manifest.began,
            tombstones=len(late),
        )
        beginning = NewEvent(restored, datetime.now(UTC))
        await append(connection, [Command(CommandId(self.restore_id), SYSTEM, STREAM, None, _ACTOR, (beginning,))])
        commands = iter(late.values())
        while batch := list(islice(commands, _AT_ONCE)):
            await append(connection, batch)

    async def _copy_in(self, connection: Connection, listed: Listed, gone: AbstractSet[UUID]) -> None:
        """Copy a file into its table without the rows of what is gone."""
        schema, _, table = listed.table.partition(".")
        await connection.copy_to_table(
            table,
            schema_name=schema,
            columns=list(listed.columns),
            source=_pieces(_kept(rows_of(self.folder / listed.name), listed.columns, gone)),
            format="binary",
        )

    async def _verify(self, connection: Connection, progress: Progress) -> None:
        faults = Faults()
        report = await check(connection, self.evidence, faults, progress, trust=Trust())
        if not report.ok:
            raise TamperError(f"the backup is not the log that was signed: {report.faults[0]}; nothing was restored")
        root = await connection.fetchval("select root from log.head")
        if (report.end, root.hex()) != (self.manifest.size, self.manifest.root):
            raise TamperError("the backup's log does not have the head that its manifest names; nothing was restored")


def _holds_sealed(listed: Listed) -> bool:
    return set(listed.columns) >= _SEALED


def _kept(rows: Iterator[Row], columns: Sequence[str], gone: AbstractSet[UUID]) -> Iterator[Row]:
    if not gone:
        return rows
    ids = {each.bytes for each in gone}
    whose = [number for number, column in enumerate(columns) if column in _WHOSE]
    return (row for row in rows if not any(row[number] in ids for number in whose))


async def _pieces(rows: Iterable[Row]) -> AsyncIterator[bytes]:
    piece = bytearray(HEADER)
    for row in rows:
        piece += encode(row)
        if len(piece) >= _PIECE:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece + TRAILER)
