"""Bringing a backup back: behind a wall, without what was forgotten, as a new origin, with read models made anew (R44).

Every step is durable before the next and harmless when repeated, so a restore that was killed is run again. Until the
last one the database lets in nobody but its owner.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid4, uuid5

from events import failpoint
from events.checkpointer import Checkpointer
from events.errors import BadInputError, CenotaphError, TamperError
from events.log import read_last
from events.model import Restored
from events.note import Checkpoint, Note
from events.origins import STREAM, begin
from events.place import Place
from events.postgres import Connection, Database
from events.provider import Provider
from events.sealer import Sealer
from ops.backup import wall
from ops.backup.keypart import read_keys
from ops.backup.load import Loading
from ops.backup.manifest import Manifest
from ops.backup.proof import Proof
from ops.backup.write import REVISION
from projections.follower import Follower
from projections.model import Projection
from services.audit.evidence import Evidence, Source, Trust, judge
from services.audit.faults import Faults
from services.audit.reading import Progress, copies, part_of
from services.forgetting.second_place import Tombstones
from services.remembering.policies import SYSTEM

_WHOLE = """
select f.tenant_id, f.target, e.recorded_at from log.fence f join log.event e using (event_id)
where f.target in (f.tenant_id, f.subject_id) order by e.seq"""
_DESTROY = "delete from vault.data_key where key_id = any($1::uuid[]) or subject_id = any($1) or tenant_id = any($1)"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A backup that may be restored: both parts are whole, signed by the log's own key, and the keys are not too old.

    `keys` is None where the living vault is to be used; `ahead` is how many more events the second place knows of.
    """

    folder: Path
    manifest: Manifest
    keys: tuple[Path, Manifest] | None
    evidence: Evidence
    ahead: int


@dataclass(frozen=True)
class Target:
    """Where to restore to.

    Args:
        log: the log's cluster as its owner, migrated.
        vault: the vault's cluster as its owner, migrated.
        provider: where epochs' secrets lie.
        place: the second place.
        keys: the folder of key files, for the key that signs the new origin.
        projections: the read models.
        proof: looks for what must not have come back.
    """

    log: Database
    vault: Database
    provider: Provider
    place: Place
    keys: Path
    projections: Mapping[str, Projection]
    proof: Proof


@dataclass(frozen=True, slots=True)
class Done:
    """What a restore did: events, tombstones that were newer than the backup, bodies left out, tombstones probed."""

    events: int
    late: int
    left_out: int
    probed: int


def choose(folder: Path, keys: Path | None, place: Place, now: datetime) -> Chosen:
    """Read a backup and check all of it before anything is touched.

    Args:
        folder: the log's part.
        keys: the part of the keys, None where the living vault is to be used.
        place: the second place; without it nobody knows what was forgotten meanwhile.
        now: the time to judge the keys' life by.

    Raises:
        BadInputError: it is half a backup, no backup, of another version, or its keys are too old.
        TamperError: a file is missing or changed, or the log's key did not sign it.
        CenotaphError: the second place is not that of this log.
    """
    manifest, note = Manifest.read(folder)
    evidence, ahead = _evidence(place, manifest)
    parts = [(folder, manifest, note, "log")]
    if keys is not None:
        parts.append((keys, *Manifest.read(keys), "keys"))
    for where, part, signature, kind in parts:
        if not part.signed(signature, evidence.chain):
            raise TamperError(f"the manifest in {where} is not signed by {manifest.origin}; nothing was restored")
        if part.part != kind or part.backup_id != manifest.backup_id:
            raise BadInputError(f"{where} is not the part `{kind}` of backup {manifest.backup_id}")
        if kind == "keys" and now >= part.keys_die_by:
            raise BadInputError(
                f"the keys of this backup were to be used until {part.keys_die_by:%Y-%m-%d %H:%M} UTC and are refused;"
                " the vault that still lives opens it (--living-vault)"
            )
        part.check(where)
    return Chosen(folder, manifest, None if keys is None else (keys, parts[1][1]), evidence, ahead)


async def restore(target: Target, chosen: Chosen, shown: Callable[[str], Progress]) -> Done:
    """Restore what was chosen.

    Args:
        target: where to; empty, or left by the same restore when it was interrupted.
        chosen: what.
        shown: gives a progress for each step by name.

    Raises:
        CenotaphError: the target holds something else, or somebody uses it.
        TamperError: the backup is not what was signed, or something forgotten came back; the wall stands.
    """
    async with target.log.connection() as connection:
        revision = await connection.fetchval(REVISION)
        if revision != chosen.manifest.revision:
            raise BadInputError(
                f"the backup has schema {chosen.manifest.revision}, this build {revision}: restore it with the version"
                " that wrote it, then upgrade"
            )
        restore_id = await _restore_of(connection, chosen.manifest)
        if restore_id is None:
            await _require_empty(target, living=chosen.keys is None)
            await wall.raise_wall(connection)
    failpoint.hit("restore.walled")
    if restore_id is None:
        restore_id = uuid4()
        loading = Loading(chosen.manifest, chosen.folder, Tombstones(target.place), chosen.evidence, restore_id)
        async with target.log.transaction() as connection:
            await loading.load(connection, shown("log"))
    failpoint.hit("restore.committed")
    async with target.log.connection() as connection:
        gone = frozenset(row["target"] for row in await connection.fetch("select target from log.fence"))
        whole = await connection.fetch(_WHOLE)
    await _unlock(target, chosen, restore_id, gone)
    async with target.vault.transaction() as connection:
        for row in whole:  # so that nobody makes them a key again
            if row["target"] == row["tenant_id"]:
                await connection.execute("select vault.bar_tenant_v1($1)", row["tenant_id"])
                await connection.execute("select vault.drop_tenant_v1($1)", row["tenant_id"])
            else:
                ids = (row["tenant_id"], row["target"], row["recorded_at"])
                await connection.execute("select vault.erase_person_v1($1, $2, $3)", *ids)
    failpoint.hit("restore.unlocked")
    while await Sealer(target.log).seal():
        pass
    begin(target.place, restore_id, chosen.manifest.backup_id, chosen.manifest.origin)
    await Checkpointer(target.log, target.place, target.keys).write()
    failpoint.hit("restore.begun")
    for name, projection in target.projections.items():
        await Follower(projection, target.log).rebuild(shown(name))
    failpoint.hit("restore.rebuilt")
    probed = await target.proof.prove()
    async with target.log.transaction() as connection:
        done = await _done(connection, chosen, probed)
        # every turn was queued once; the sweeper finds those that were not considered
        await connection.execute(
            "update read_model.checkpoint set position = (select size - 1 from log.head) where name = 'dispatch'"
        )
        await wall.take_down(connection)
    return done


async def _restore_of(connection: Connection, manifest: Manifest) -> UUID | None:
    """Return the restore that was interrupted here, None where nothing was begun.

    Raises:
        CenotaphError: another backup was being restored.
    """
    if not await wall.stands(connection):
        return None
    last = await read_last(connection, SYSTEM, STREAM)
    if last is None:
        return None
    if not isinstance(last.event, Restored) or last.event.backup_id != manifest.backup_id:
        raise CenotaphError("another backup was being restored here: finish that one, or take an empty database")
    return last.command_id


async def _require_empty(target: Target, *, living: bool) -> None:
    async with target.log.connection() as connection:
        log_used = await connection.fetchval("select exists (select from log.event)")
    async with target.vault.connection() as connection:
        vault_used = await connection.fetchval("select exists (select from vault.tenant)")
    if log_used:
        raise CenotaphError("the log to restore into is not empty; name a fresh data directory or an empty database")
    if vault_used != living:
        raise CenotaphError(
            "the vault holds no keys, so it opens nothing of the backup; restore its keys too"
            if living
            else "the vault to restore into is not empty; name an empty one, or use what lives in it (--living-vault)"
        )


async def _unlock(target: Target, chosen: Chosen, restore_id: UUID, gone: AbstractSet[UUID]) -> None:
    """Bring the keys, once, without those of what is gone; or destroy these where the vault lives."""
    if chosen.keys is None:
        async with target.vault.connection() as connection:
            await connection.execute(_DESTROY, list(gone))
        return
    epoch = uuid5(restore_id, "epoch")
    await target.provider.new_epoch(epoch)
    async with target.vault.transaction() as connection:
        known = "select exists (select from vault.restored where restore_id = $1)"
        if await connection.fetchval(known, restore_id):
            return
        await connection.execute("insert into vault.epoch (epoch_id, ready) values ($1, true)", epoch)
        async for table, columns, rows in read_keys(*chosen.keys, target.provider, epoch, gone):
            schema, _, name = table.partition(".")
            await connection.copy_records_to_table(name, schema_name=schema, columns=columns, records=rows)
        await connection.execute("insert into vault.restored (restore_id) values ($1)", restore_id)
        failpoint.hit("restore.unlocking")


async def _done(connection: Connection, chosen: Chosen, probed: int) -> Done:
    last = await read_last(connection, SYSTEM, STREAM)
    assert last is not None, "the new origin begins with it"  # noqa: S101 - narrows the type
    assert isinstance(last.event, Restored), "nothing else is in this stream"  # noqa: S101 - narrows the type
    bodies = await connection.fetchval("select count(*) from log.body")
    left_out = chosen.manifest.file("log.body").rows - bodies
    return Done(chosen.manifest.size, last.event.tombstones, left_out, probed)


def _evidence(place: Place, manifest: Manifest) -> tuple[Evidence, int]:
    """Judge what the second place has of this log up to the backup; say how many more events it knows of."""
    part = part_of(place, manifest.origin)
    if part is None:
        raise CenotaphError(
            f"the second place does not know {manifest.origin}; only there it says what was forgotten since the backup,"
            " and nothing is restored without it: name it with CENOTAPH_SECOND_PLACE"
        )
    there = copies(part)
    sizes = [(Checkpoint.parse(Note.parse(note).text).size, note) for _, note in there.checkpoints]
    known = [(Source.PLACE, note) for size, note in sizes if size <= manifest.size]
    faults = Faults()
    evidence = judge(
        dict.fromkeys((Source.LOG, Source.PLACE), there.introductions), known, Trust(), faults, partial=True
    )
    if faults.total:
        raise TamperError(f"what the second place has of this log does not hold: {faults.in_order()[0]}")
    return evidence, max((size - manifest.size for size, _ in sizes if size > manifest.size), default=0)
