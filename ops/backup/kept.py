"""The backups there are: what each may still hold, and dropping one (R44)."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

import structlog

from events.errors import BadInputError
from events.keyfile import destroy
from events.model import Frozen
from events.postgres import Connection, Database
from services.forgetting.backups import SECRET

log = structlog.get_logger(__name__)

# receipts name the copies that hold the sealed bytes; of a deletion that no layer has answered for, any may
_LIST: Final = """
select b.backup_id, b.log_at, b.keys_at, b.began_at, b.ended_at, b.size,
  b.keys_die_by, b.keys_destroyed_at, b.dropped_at,
  (select count(*) from ops.erasure e where exists (
     select from jsonb_array_elements(e.layers) layer, jsonb_array_elements(coalesce(layer -> 'copies', '[]')) copy
     where copy ->> 'copy_id' = b.backup_id::text)) as holds,
  (select count(*) from ops.erasure e where e.propagated_at is null and e.closed_at is null
     and e.layers = '[]') as unanswered
from ops.backup b where $1::uuid is null or b.backup_id = $1 order by b.began_at"""
_DROPPED: Final = """
update ops.backup set dropped_at = coalesce(dropped_at, clock_timestamp()),
  keys_destroyed_at = coalesce(keys_destroyed_at, clock_timestamp()) where backup_id = $1"""


class Kept(Frozen):
    """A backup that was begun.

    `holds` counts deletions whose sealed bytes are in it, `unanswered` those whose may be. From `keys_die_by` on at the
    latest nothing opens them, from `keys_destroyed_at` on nothing does.
    """

    backup_id: UUID
    log_at: str
    keys_at: str
    began_at: datetime
    ended_at: datetime | None
    size: int | None
    keys_die_by: datetime
    keys_destroyed_at: datetime | None
    dropped_at: datetime | None
    holds: int
    unanswered: int


async def backups(database: Database) -> Sequence[Kept]:
    """List every backup that was ever begun, oldest first.

    Args:
        database: the log's cluster as its owner.
    """
    async with database.connection() as connection:
        return await _read(connection, None)


async def drop(database: Database, backup_id: UUID, *, removed: bool) -> Kept:
    """Destroy the secret of a backup's keys, remove its files, and note that; repeated, it goes on where it was.

    Args:
        database: the log's cluster as its owner.
        backup_id: which.
        removed: somebody has done it where this machine does not reach; it is noted and no file is touched.

    Raises:
        BadInputError: there is no such backup, or its folders are not here.
        SecretError: the secret cannot be destroyed.
    """
    async with database.connection() as connection:
        found = await _read(connection, backup_id)
    if not found:
        raise BadInputError(f"there is no backup {backup_id}; see `cenotaph backups list`")
    kept = found[0]
    if not removed and kept.dropped_at is None:
        await asyncio.to_thread(_remove, Path(kept.keys_at), Path(kept.log_at))
    async with database.connection() as connection:
        await connection.execute(_DROPPED, backup_id)
        (dropped,) = await _read(connection, backup_id)
    log.info("backup_dropped", backup=str(backup_id))
    return dropped


def _remove(keys: Path, folder: Path) -> None:
    """Remove the secret first, which overwrites it: without it the rest is noise."""
    if missing := [str(each) for each in (keys, folder) if not each.is_dir()]:
        raise BadInputError(
            f"{' and '.join(missing)} cannot be reached from here; destroy {SECRET} and the files where they are,"
            " then say so with --removed"
        )
    destroy(keys / SECRET)
    for each in (keys, folder):
        for file in each.iterdir():
            file.unlink()


async def _read(connection: Connection, backup_id: UUID | None) -> Sequence[Kept]:
    return [Kept(**dict(row)) for row in await connection.fetch(_LIST, backup_id)]
