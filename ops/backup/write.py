"""Taking a backup while the system runs: the log's part, and that of the keys, which is kept apart (R44, ADR 0017)."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final
from uuid import uuid4

from events import failpoint
from events.checkpointer import Checkpointer
from events.postgres import Database
from events.provider import Provider
from ops.backup.folder import finish, fresh
from ops.backup.keypart import write_keys
from ops.backup.manifest import Manifest
from ops.backup.tables import copy_out, tables_of
from services.audit.reading import head_of, snapshot

REVISION: Final = "select version_num from alembic_version"

_BEGIN = """
insert into ops.backup (backup_id, log_at, keys_at, keys_die_by)
values ($1, $2, $3, clock_timestamp() + $4) returning began_at, keys_die_by"""
_END = "update ops.backup set ended_at = clock_timestamp(), size = $2 where backup_id = $1 returning ended_at"


@dataclass(frozen=True, slots=True)
class Sources:
    """What a backup is taken of.

    Args:
        log: the log's cluster as its owner.
        vault: the vault's cluster as its owner.
        provider: where the epochs' secrets lie.
        checkpointer: signs with the key in force.
    """

    log: Database
    vault: Database
    provider: Provider
    checkpointer: Checkpointer


async def back_up(sources: Sources, folder: Path, keys: Path, life: timedelta) -> tuple[Manifest, Manifest]:
    """Write a backup; return the manifests of the log's part and of the keys'.

    It is registered before anything is read, so that whoever is forgotten meanwhile has it in the receipt. The log is
    read before the vault: a data key is durable before anything is sealed under it, so no body lacks its key.

    Args:
        sources: what to back up.
        folder: for the log's part; empty or not there yet.
        keys: for the part of the keys; empty or not there yet.
        life: how long the keys may be used.

    Raises:
        BadInputError: a folder is not empty.
        UnavailableError: a cluster does not answer, or keys roll all the time.
    """
    folder, keys, backup_id = fresh(folder), fresh(keys), uuid4()
    await sources.checkpointer.write()
    origin = (await sources.checkpointer.first_key()).name
    async with sources.log.connection() as connection:
        row = await connection.fetchrow(_BEGIN, backup_id, str(folder), str(keys), life)
    assert row is not None, "returned by the insert"  # noqa: S101 - narrows the type
    failpoint.hit("backup.registered")
    async with snapshot(sources.log) as connection:
        head = await head_of(connection)
        files = [await copy_out(connection, *table, folder) for table in (await tables_of(connection)).items()]
        revision = await connection.fetchval(REVISION)
    failpoint.hit("backup.log_written")
    key_files, key_revision = await write_keys(sources.vault, sources.provider, keys)
    failpoint.hit("backup.keys_written")
    async with sources.log.connection() as connection:
        ended = await connection.fetchval(_END, backup_id, head.size)
    log_part = Manifest(
        part="log",
        backup_id=backup_id,
        origin=origin,
        size=head.size,
        root=head.root.hex(),
        revision=revision,
        began=row["began_at"],
        ended=ended,
        keys_die_by=row["keys_die_by"],
        files=tuple(files),
    )
    keys_part = log_part.model_copy(update={"part": "keys", "revision": key_revision, "files": tuple(key_files)})
    for part, into in ((keys_part, keys), (log_part, folder)):
        finish(into, await sources.checkpointer.endorse(part.text))
        failpoint.hit("backup.signed")
    return log_part, keys_part
