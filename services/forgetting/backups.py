"""Backups as a layer: which may hold the sealed bytes of what was forgotten, and by when nothing opens them (R44)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

import structlog

from events.envelope import finalized_command
from events.errors import SecretError
from events.keyfile import destroy
from events.model import Copy, LayerFinding
from events.postgres import Database
from services.forgetting.layers import State, finding
from services.forgetting.question import Question

log = structlog.get_logger(__name__)

SECRET: Final = "backup.key"  # noqa: S105 - the name of a file
"""What all of a backup's keys are wrapped under; without it the rest is noise."""

# a body lay in the log from its event on until it was removed; without a turn nobody knows since when
_HOLDING = """
with lived as (
  select (select min(recorded_at) from log.event where command_id = any($1::uuid[])) as born,
         (select min(destroyed_at) from ops.erasure
          where tenant_id = $2 and subject_id = $3 and requested_at = $4) as gone
)
select b.backup_id, b.began_at, case when b.keys_destroyed_at is null then b.keys_die_by end as keys_die_by
from ops.backup b, lived
where b.dropped_at is null and b.began_at <= coalesce(lived.gone, clock_timestamp())
  and coalesce(b.ended_at, clock_timestamp()) >= coalesce(lived.born, '-infinity')
order by b.began_at"""
_ANY = "select exists (select from ops.backup)"
_OVERDUE = """
select backup_id, keys_at from ops.backup where keys_destroyed_at is null and keys_die_by <= clock_timestamp()"""
_DESTROYED = "update ops.backup set keys_destroyed_at = clock_timestamp() where backup_id = $1"


class BackupProbe:
    """Says which backups were taken while the sealed bytes lay in the log. They stay there; what opens them dies.

    Args:
        prober: a pool under `cenotaph_prober`.
    """

    layer: ClassVar[str] = "backup_manifest"

    def __init__(self, prober: Database) -> None:
        self._prober = prober

    async def ask(self, question: Question) -> LayerFinding:
        """List them; `not_configured` where no backup was ever taken."""
        async with self._prober.connection() as connection:
            if not await connection.fetchval(_ANY):
                return finding(self.layer, {}, "not_configured", {})
            rows = await connection.fetch(
                _HOLDING,
                [finalized_command(turn) for turn in question.turns],
                question.scope.tenant_id,
                question.scope.subject_id,
                question.forgotten_at,
            )
        copies = tuple(
            Copy(copy_id=row["backup_id"], made_at=row["began_at"], keys_die_by=row["keys_die_by"]) for row in rows
        )
        state: State = "unreclaimed" if copies else "absent"
        found = finding(self.layer, {"backups": len(copies)}, state, {"backups": _HOLDING})
        return found.model_copy(update={"copies": copies})

    async def readers(self) -> Sequence[str]:
        """Name who may: whoever holds both folders of a backup, as long as its keys live."""
        return ("who holds a backup and its keys",)


class BackupKeys:
    """Ends the life of the keys of backups.

    Args:
        eraser: a pool under `cenotaph_eraser`.
    """

    def __init__(self, eraser: Database) -> None:
        self._eraser = eraser

    async def expire(self) -> int:
        """Destroy the secret of every part of keys whose time is over; return how many that were.

        One that cannot be reached from here stays registered and is tried again: its folder may be on another machine.
        """
        async with self._eraser.connection() as connection:
            rows = await connection.fetch(_OVERDUE)
        ended = 0
        for row in rows:
            try:
                await asyncio.to_thread(destroy, Path(row["keys_at"]) / SECRET)
            except SecretError as error:
                log.warning("backup_keys_not_destroyed", backup=str(row["backup_id"]), reason=str(error))
                continue
            async with self._eraser.connection() as connection:
                await connection.execute(_DESTROYED, row["backup_id"])
            ended += 1
        return ended
