"""The second receipt: the bytes are gone too (R42), as every file was rewritten and the keys have rolled."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import uuid5

import orjson
import structlog

from events import failpoint
from events.envelope import Command, NewEvent, StoredEvent, receipts_stream
from events.log import append, read_events
from events.model import CommandId, ErasureVerified, EventId, LayerFinding, Scope, SubjectId, TenantId
from events.postgres import Connection, Database, Row
from events.vault import Vault
from services.forgetting.layers import State, finding
from services.forgetting.question import Question
from services.forgetting.queues import QueueProbe
from services.forgetting.receipt import Signer, closable, second_statement
from services.forgetting.reclaim import covered_of

_ACTOR = "worker:erase"
_REWRITTEN = {
    "log_bodies": "postgres",
    "read_models": "postgres",
    "records": "postgres",
    "vault_keys": "vault",
    "vector_index": "vector_index",
}
"""By which rewriting the bytes of a layer go."""

_DUE = """
select * from ops.erasure where propagated_at is not null and purged_at is null and closed_at is null
order by propagated_at limit $1
"""
_ENDED = "select count(*) from ops.backup where backup_id = any($1::uuid[]) and keys_destroyed_at is not null"
_CLOSING = """
select * from ops.erasure where close_asked_at is not null and purged_at is null and closed_at is null
order by close_asked_at limit $1
"""
log = structlog.get_logger(__name__)

Second = Literal["deletion_purged", "closed_unproven"]


class Purger:
    """Signs second receipts, and closes what can never be proven when its person says so.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        vault: under `vault_opener` or more, for the age of the epochs.
        queues: the probe of what Redis keeps.
        signer: signs receipts.
        copies: for how long copies of the provider's secrets are kept elsewhere.
        within: how long a deletion may wait for it without a warning.
    """

    def __init__(
        self,
        eraser: Database,
        vault: Vault,
        queues: QueueProbe,
        signer: Signer,
        *,
        copies: timedelta,
        within: timedelta,
    ) -> None:
        self._copies = copies
        self._within = within
        self._eraser = eraser
        self._vault = vault
        self._queues = queues
        self._signer = signer

    async def step(self, limit: int = 100) -> int:
        """Sign what is proven by now, oldest first; return how many."""
        async with self._eraser.connection() as connection:
            due = await connection.fetch(_DUE, limit)
            closing = await connection.fetch(_CLOSING, limit)
        signed = 0
        for row in closing:
            stored = [LayerFinding.model_validate(each) for each in row["layers"]]
            if closable(row["propagated_at"], stored):
                signed += await self.sign(row, "closed_unproven", stored)
            else:  # a layer answered after the person had asked
                await self._withdraw(row)
        for row in due:
            findings = await self.ask(row)
            if all(each.state == "purged" for each in findings):
                signed += await self.sign(row, "deletion_purged", findings)
            elif datetime.now(UTC) - row["propagated_at"] > self._within:
                waiting = [each.layer for each in findings if each.state != "purged"]
                log.warning("deletion_not_purged", tombstone=str(row["tombstone"]), layers=waiting)
        return signed

    async def _withdraw(self, row: Row) -> None:
        """Drop the wish to close where nothing is unproven any more: the deletion ends by itself."""
        async with self._eraser.connection() as connection:
            await connection.execute(
                "update ops.erasure set close_asked_at = null where tombstone = $1", row["tombstone"]
            )
        log.warning("nothing_to_close", tombstone=str(row["tombstone"]))

    async def ask(self, row: Row) -> list[LayerFinding]:
        """Say of each layer whether its files were rewritten behind the first receipt."""
        propagated: datetime = row["propagated_at"]
        findings = []
        async with self._eraser.connection() as connection:
            for layer, by in _REWRITTEN.items():
                findings.append(_behind(layer, propagated, await covered_of(connection, by), f"{by} rewritten"))
            copied = await _copied(connection, row)
        died = None if copied else await self._vault.dead_before(self._copies)
        findings.append(_behind("keys_die_by", propagated, died, "oldest epoch, and copies of the one before"))
        kept = await self._queues.ask(_ids_only(row))
        state: State = "purged" if kept.state == "drained" else kept.state
        findings.append(kept.model_copy(update={"state": state}))
        return findings

    async def sign(self, row: Row, decision: Second, findings: Sequence[LayerFinding]) -> bool:
        """Append the second receipt; repeated, the first one stands."""
        async with self._eraser.connection() as connection:
            tombstone = (await read_events(connection, [EventId(row["tombstone"])]))[EventId(row["tombstone"])]
        now = datetime.now(UTC)
        statement = second_statement(tombstone, findings, decision, now, row["statement"])
        event = ErasureVerified(
            tombstone=tombstone.event_id,
            decision=decision,
            statement=statement,
            signature=self._signer.sign(statement),
            signing_key=self._signer.public,
        )
        async with self._eraser.transaction() as connection:
            (answer,) = await append(connection, [_command(tombstone, event, now)])
            if answer.outcome == "appended":
                await connection.execute(
                    """update ops.erasure set purged_at = case when $2 = 'deletion_purged' then $3::timestamptz end,
                         closed_at = case when $2 = 'closed_unproven' then $3::timestamptz end,
                         purge_layers = $4, second_statement = $5, second_signature = $6,
                         signing_key = coalesce(signing_key, $7) where tombstone = $1""",
                    tombstone.event_id,
                    decision,
                    now,
                    orjson.dumps([each.model_dump(mode="json") for each in findings]).decode(),
                    statement,
                    event.signature,
                    event.signing_key,
                )
        failpoint.hit("erase.purged")
        log.info(decision, tombstone=str(tombstone.event_id))
        return answer.outcome == "appended"


async def _copied(connection: Connection, row: Row) -> bool:
    """Tell whether a backup that the first receipt lists may still be opened: nobody dropped it or ended its keys."""
    findings = [LayerFinding.model_validate(each) for each in row["layers"]]
    now = datetime.now(UTC)
    lives = [
        copy.copy_id
        for found in findings
        for copy in found.copies
        if copy.keys_die_by is not None and copy.keys_die_by > now
    ]
    ended = await connection.fetchval(_ENDED, lives)
    return len(set(lives)) > int(ended)


def _command(tombstone: StoredEvent, event: ErasureVerified, now: datetime) -> Command:
    command_id = CommandId(uuid5(tombstone.event_id, "purged"))  # one end, whichever it is
    stream = receipts_stream(tombstone.scope.subject_id)
    return Command(command_id, tombstone.scope, stream, None, _ACTOR, (NewEvent(event, now),))


def _behind(layer: str, propagated: datetime, covered: datetime | None, query: str) -> LayerFinding:
    """Compare up to when a layer's files are rewritten with when the last of it was removed."""
    missing = covered is None or covered < propagated
    lag = timedelta(0) if covered is None else propagated - covered
    checks = {"not_rewritten": int(missing), "asked": max(0, int(lag.total_seconds()))}
    state: State = "purged"
    found = finding(layer, checks, state, {"not_rewritten": query, "asked": "seconds that are missing"})
    return found.model_copy(update={"state": "unreclaimed"}) if missing else found


def _ids_only(row: Row) -> Question:
    scope = Scope(tenant_id=TenantId(row["tenant_id"]), subject_id=SubjectId(row["subject_id"]))
    return Question(scope=scope, forgotten_at=row["requested_at"], memories=(), messages=(), keys=(), turns=())
