"""The one resumable finisher of an erasure: probes prepared, keys destroyed, bodies removed, layers proven, signed.

Every step is durable before the next and harmless when repeated, so it may be killed anywhere and asked again.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal
from uuid import uuid5
from weakref import WeakValueDictionary

import orjson
import structlog

from events import failpoint
from events.envelope import Command, NewEvent, StoredEvent, decrypt, encrypt, memory_stream, receipts_stream
from events.log import append, read_at, read_stream
from events.model import CommandId, ErasureVerified, KeyId, LayerFinding, Position, Scope, Tombstoned
from events.postgres import Database, Row
from events.schedule import Schedule
from events.vault import Vault
from services.forgetting.layers import Registry
from services.forgetting.prepare import prepare
from services.forgetting.question import Question, bare_question
from services.forgetting.receipt import Decision, Signer, decide, statement_of
from services.forgetting.second_place import Tombstones
from services.forgetting.whole import Whole, person_of, scratch_of

PROBE_LIFE: Final = timedelta(days=1)
"""For how long at most a deletion that stays pending keeps what its probes ask for."""
Unasked = Literal["unread", "expired", "restored"]
_ACTOR = "worker:erase"
NEGATIVE_QUERIES = frozenset(
    {"by_id", "by_id_other_tenant", "exact_text", "exact_text_or_id", "stored_keywords", "stored_vector", "paraphrase"}
)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Stage:
    """What an erasure has reached."""

    tombstone: StoredEvent
    decision: Decision


class Finisher:
    """Carries out erasures.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        vault: under `vault_eraser`: may open, lease probe keys and destroy.
        registry: every layer and every probe.
        whole: those of a whole person or tenant.
        second_place: where tombstones lie outside the database.
        signer: signs receipts.
        schedule: when keys roll.
        prepare_s: how long probes may take to be prepared; erasure does not wait for longer.
    """

    def __init__(
        self,
        eraser: Database,
        vault: Vault,
        registry: Registry,
        second_place: Tombstones,
        signer: Signer,
        *,
        whole: Registry,
        schedule: Schedule,
        prepare_s: float,
    ) -> None:
        self._prepare_s = prepare_s
        self._eraser = eraser
        self._whole = Whole(eraser, vault)
        self._whole_registry = whole
        self._vault = vault
        self._registry = registry
        self._second_place = second_place
        self._signer = signer
        self._schedule = schedule
        self._under_way: WeakValueDictionary[Position, asyncio.Lock] = WeakValueDictionary()

    async def finish(self, position: Position) -> Stage | None:
        """Go as far as possible with the tombstone at a position; None where there is none.

        One that is under way in this process is waited for: a second finisher beside it would do all of it again.

        Raises:
            UnavailableError: the log or the vault does not answer; ask again.
        """
        alone = self._under_way.setdefault(position, asyncio.Lock())
        async with alone:
            return await self._finish(position)

    async def _finish(self, position: Position) -> Stage | None:
        async with self._eraser.connection() as connection:
            tombstone = await read_at(connection, position)
        if tombstone is None or not isinstance(tombstone.event, Tombstoned):
            return None
        row = await self._open(tombstone)
        if row["propagated_at"] is not None or row["closed_at"] is not None:
            await self._clear(tombstone)
            return Stage(tombstone, "DELETION_PENDING" if row["propagated_at"] is None else "deletion_propagated")
        question = await self._question(tombstone, row)
        failpoint.hit("erase.prepared")
        # again at every try: a cluster restored meanwhile from an older backup holds keys and bodies again
        await self._destroy(tombstone, question)
        registry = self._whole_registry if question.whole else self._registry
        await registry.erase(tombstone, question)
        findings = await registry.ask(question)
        decision = decide(findings, tombstone.position or Position(0))
        negatives = negatives_of(findings)
        if decision == "deletion_propagated":
            failpoint.hit("erase.proven")
            await self._receipt(tombstone, findings, negatives)
        else:
            await self._note(tombstone, findings, negatives)
        return Stage(tombstone, decision)

    async def pending(self, limit: int = 100) -> list[Position]:
        """Return tombstones that are due for another try, oldest first: no receipt, or something outlived it.

        Those that are under way in this process are not.
        """
        async with self._eraser.connection() as connection:
            rows = await connection.fetch(
                """select s.position from log.event e left join ops.erasure o on o.tombstone = e.event_id
                   cross join lateral (select position from log.sealed where seq = e.seq limit 1) s
                   where e.type = 'tombstoned' and o.cleared_at is null
                     and coalesce(o.tried_at, e.recorded_at) < clock_timestamp()
                       - least(interval '5 minutes', interval '1 second' * power(2, least(coalesce(o.attempts, 0), 9)))
                   order by s.position limit $1""",
                limit,
            )
        positions = (Position(row["position"]) for row in rows)
        return [position for position in positions if position not in self._under_way]

    async def _open(self, tombstone: StoredEvent) -> Row:
        event = tombstone.event
        assert isinstance(event, Tombstoned), "checked by the caller"  # noqa: S101 - narrows the type
        async with self._eraser.connection() as connection:
            await connection.execute(
                "insert into ops.erasure (tombstone, tenant_id, subject_id, memory_id, requested_at)"
                " values ($1, $2, $3, $4, $5) on conflict do nothing",
                tombstone.event_id,
                tombstone.scope.tenant_id,
                tombstone.scope.subject_id,
                next(iter(event.memories), None),
                tombstone.recorded_at,
            )
            row = await connection.fetchrow("select * from ops.erasure where tombstone = $1", tombstone.event_id)
        assert row is not None, "inserted above"  # noqa: S101 - narrows the type
        return row

    async def _question(self, tombstone: StoredEvent, row: Row) -> Question:
        """Return the prepared probes: those sealed by an earlier try, or new ones while the keys still live."""
        if row["probe"] is not None and datetime.now(UTC) - row["prepared_at"] > PROBE_LIFE:
            await self._vault.destroy(_sealed_for(tombstone), [KeyId(row["probe_key"])])
            await self._unasked(tombstone, "expired")
            return bare_question(tombstone)
        if row["probe"] is not None:
            keyring = await self._vault.keyring(_sealed_for(tombstone))
            secrets = await keyring.load([KeyId(row["probe_key"])])
            if (secret := secrets.get(row["probe_key"])) is not None:
                return Question.model_validate_json(decrypt(secret, row["probe"], tombstone.event_id.bytes))
        if row["destroyed_at"] is not None or row["unasked"] is not None:
            await self._unasked(tombstone, "unread")
            return bare_question(tombstone)
        try:
            question = await asyncio.wait_for(self._prepare(tombstone), self._prepare_s)
        except Exception as error:  # noqa: BLE001 - erasure never waits for its proof; the semantic probes will say so
            log.warning("probes_not_prepared", tombstone=str(tombstone.event_id), error=type(error).__name__)
            await self._unasked(tombstone, "unread")
            return bare_question(tombstone)
        if not question.prepared:
            await self._unasked(tombstone, "unread")
        (key,) = await (await self._vault.keyring(_sealed_for(tombstone))).lease(1)
        sealed = encrypt(key.secret, question.model_dump_json().encode(), tombstone.event_id.bytes)
        async with self._eraser.connection() as connection:
            kept = await connection.fetchval(
                "update ops.erasure set probe_key = $2, probe = $3, prepared_at = clock_timestamp()"
                " where tombstone = $1 and probe_key is null returning true",
                tombstone.event_id,
                key.key_id,
                sealed,
            )
        if kept:
            return question
        # another finisher of the same tombstone was quicker, perhaps quick enough to destroy what this one was to read
        await self._vault.destroy(_sealed_for(tombstone), [key.key_id])
        return await self._question(tombstone, await self._open(tombstone))

    async def _prepare(self, tombstone: StoredEvent) -> Question:
        if _is_whole(tombstone):
            return await self._whole.sample(tombstone, self._prepare_s)
        keyring = await self._vault.keyring(tombstone.scope)
        async with self._eraser.connection() as connection:
            stream = await read_stream(connection, tombstone.scope, memory_stream(tombstone.scope.subject_id))
            return await prepare(connection, keyring, tombstone, stream)

    async def _destroy(self, tombstone: StoredEvent, question: Question) -> None:
        """Blind the live system: keys, bodies, and the ids in the second place."""
        if question.whole:
            await self._whole.destroy(tombstone)
        else:
            await self._vault.destroy(tombstone.scope, question.keys)
            failpoint.hit("erase.destroyed")
            async with self._eraser.connection() as connection:
                await connection.fetchval("select log.remove_bodies_v1($1)", tombstone.event_id)
            failpoint.hit("erase.removed")
        await asyncio.to_thread(self._second_place.record, tombstone)
        failpoint.hit("erase.recorded")
        async with self._eraser.connection() as connection:
            await connection.execute(
                "update ops.erasure set destroyed_at = coalesce(destroyed_at, clock_timestamp()) where tombstone = $1",
                tombstone.event_id,
            )

    async def _note(self, tombstone: StoredEvent, findings: list[LayerFinding], negatives: dict[str, int]) -> None:
        async with self._eraser.connection() as connection:
            await connection.execute(
                "update ops.erasure set layers = $2, negatives = $3, attempts = attempts + 1,"
                " tried_at = clock_timestamp() where tombstone = $1 and propagated_at is null",
                tombstone.event_id,
                _json([finding.model_dump(mode="json") for finding in findings]),
                _json(negatives),
            )
        log.warning(
            "deletion_pending",
            tombstone=str(tombstone.event_id),
            layers=[finding.layer for finding in findings if finding.state in {"present", "cannot_prove"}],
        )

    async def _receipt(self, tombstone: StoredEvent, findings: list[LayerFinding], negatives: dict[str, int]) -> None:
        """Append the signed receipt; a repeated finish finds the first one and keeps it."""
        now = datetime.now(UTC)
        statement = statement_of(tombstone, findings, negatives, now, self._schedule)
        event = ErasureVerified(
            tombstone=tombstone.event_id,
            decision="deletion_propagated",
            statement=statement,
            signature=self._signer.sign(statement),
            signing_key=self._signer.public,
        )
        command = Command(
            CommandId(uuid5(tombstone.event_id, "propagated")),
            tombstone.scope,
            receipts_stream(tombstone.scope.subject_id),
            None,
            _ACTOR,
            (NewEvent(event, now),),
        )
        async with self._eraser.transaction() as connection:
            (answer,) = await append(connection, [command])
            if answer.outcome == "appended":
                await connection.execute(
                    """update ops.erasure set layers = $2, negatives = $3, attempts = attempts + 1,
                         tried_at = clock_timestamp(), propagated_at = $4, statement = $5, signature = $6,
                         signing_key = $7, probe = null where tombstone = $1""",
                    tombstone.event_id,
                    _json([finding.model_dump(mode="json") for finding in findings]),
                    _json(negatives),
                    now,
                    statement,
                    event.signature,
                    event.signing_key,
                )
        failpoint.hit("erase.signed")
        await self._clear(tombstone)
        log.info("deletion_propagated", tombstone=str(tombstone.event_id))

    async def _clear(self, tombstone: StoredEvent) -> None:
        """Destroy the key of the probes, which is the last thing that could open what was forgotten.

        With a whole tenant go its own key and the layers of its applications, which were asked until now.
        """
        async with self._eraser.connection() as connection:
            key = await connection.fetchval(
                "select probe_key from ops.erasure where tombstone = $1", tombstone.event_id
            )
        if key is not None:
            await self._vault.destroy(_sealed_for(tombstone), [KeyId(key)])
        if _is_whole(tombstone):
            await self._whole.release(tombstone)
            if person_of(tombstone) is None and (foreign := self._whole_registry.foreign) is not None:
                await foreign.forget(tombstone.scope.tenant_id)
        failpoint.hit("erase.released")
        async with self._eraser.connection() as connection:  # so that `pending` no longer asks for it
            await connection.execute(
                "update ops.erasure set probe_key = null, probe = null, cleared_at = clock_timestamp()"
                " where tombstone = $1",
                tombstone.event_id,
            )

    async def _unasked(self, tombstone: StoredEvent, why: Unasked) -> None:
        """Note why what was said cannot be asked for; the first reason stands."""
        async with self._eraser.connection() as connection:
            await connection.execute(
                "update ops.erasure set unasked = coalesce(unasked, $2),"
                " probe = case when $2 = 'expired' then null else probe end,"
                " probe_key = case when $2 = 'expired' then null else probe_key end where tombstone = $1",
                tombstone.event_id,
                why,
            )


def _is_whole(tombstone: StoredEvent) -> bool:
    return isinstance(tombstone.event, Tombstoned) and tombstone.event.whole


def _sealed_for(tombstone: StoredEvent) -> Scope:
    """Say under whose key the probes are sealed: a whole person's own goes before they are done."""
    return scratch_of(tombstone) if _is_whole(tombstone) else tombstone.scope


def negatives_of(findings: list[LayerFinding]) -> dict[str, int]:
    """Sum the hits of each way of asking over all layers: every number must be 0."""
    sums: dict[str, int] = {}
    for finding in findings:
        for name, count in finding.checks.items():
            if name in NEGATIVE_QUERIES:
                sums[name] = sums.get(name, 0) + count
    return sums


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
