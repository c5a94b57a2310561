"""Receipts as their person sees them: pending ones fill layer by layer, propagated ones are signed."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

import orjson

from events.errors import BadInputError, ErasedError
from events.log import read_events, read_turns
from events.model import PRIVATE, EventId, LayerFinding, Scope, Tombstoned, TurnFinalized, TurnId
from events.postgres import Connection, Database, Row
from events.schedule import Schedule
from events.vault import Vault
from projections.changes import fold, within
from projections.facts import newer_events, read_memories
from services.forgetting.receipt import OUT_OF_SCOPE, closable, keys_die_by
from services.wire.cursor import FOREIGN, cursor_of, read_cursor
from services.wire.receipts import Decision, LayerView, ReceiptEnd, ReceiptPage, ReceiptView


class Receipts:
    """Reads receipts of one person.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys, for the outside ids of turns.
        schedule: when keys roll.
    """

    def __init__(self, reader: Database, vault: Vault, schedule: Schedule) -> None:
        self._reader = reader
        self._vault = vault
        self._schedule = schedule

    async def show(self, scope: Scope, receipt_id: EventId) -> ReceiptView | None:
        """Show how far one deletion has come; the receipt's id is the tombstone's."""
        async with self._reader.transaction(scope) as connection:
            return await self._view(connection, scope, receipt_id)

    async def close(self, scope: Scope, receipt_id: EventId) -> bool:
        """Ask to close, as the person, what a layer can never prove; False where there is no such deletion.

        Raises:
            BadInputError: it is proven, or a layer says that something is still there.
        """
        async with self._reader.transaction(scope) as connection:
            row = await connection.fetchrow("select * from ops.erasure where tombstone = $1", receipt_id)
            if row is None:
                return False
            findings = [LayerFinding.model_validate(each) for each in row["layers"]]
            if any(each.state == "present" for each in findings):
                raise BadInputError("a layer says that something is still there; that is no case for closing")
            if row["closed_at"] is None and not closable(row["propagated_at"], findings):
                raise BadInputError(
                    f"nothing of deletion {receipt_id} is unproven, so there is nothing to close;"
                    " it goes on by itself until the bytes are gone too"
                )
            if row["closed_at"] is None:
                await connection.execute(
                    "update ops.erasure set close_asked_at = coalesce(close_asked_at, clock_timestamp())"
                    " where tombstone = $1",
                    receipt_id,
                )
        return True

    async def page(
        self,
        scope: Scope,
        limit: int,
        cursor: str | None,
        *,
        decision: Decision | None = None,
        since: datetime | None = None,
    ) -> ReceiptPage:
        """List deletions, newest first: all, those that have come so far, those asked for since a moment.

        Raises:
            BadInputError: the cursor is not one this method gave out.
        """
        before = None if cursor is None else _before(cursor)
        at, last = before or (None, None)
        async with self._reader.transaction(scope) as connection:
            rows = await connection.fetch(
                """select e.event_id, e.recorded_at from log.event e left join ops.erasure o on o.tombstone = e.event_id
                   where e.tenant_id = $1 and e.stream = $2 and e.type = 'tombstoned'
                     and ($3::timestamptz is null or (e.recorded_at, e.event_id) < ($3, $4::uuid))
                     and ($6::timestamptz is null or e.recorded_at >= $6)
                     and ($7::text is null or $7 = case when o.purged_at is not null then 'deletion_purged'
                       when o.closed_at is not null then 'closed_unproven'
                       when o.propagated_at is not null then 'deletion_propagated' else 'DELETION_PENDING' end)
                   order by e.recorded_at desc, e.event_id desc limit $5""",
                scope.tenant_id,
                f"memory/{scope.subject_id}",
                at,
                last,
                limit + 1,
                since,
                decision,
            )
            views = [await self._view(connection, scope, EventId(row["event_id"])) for row in rows[:limit]]
        cursor = cursor_of(rows[limit - 1]["recorded_at"], rows[limit - 1]["event_id"]) if len(rows) > limit else None
        return ReceiptPage(receipts=tuple(view for view in views if view is not None), next_cursor=cursor)

    async def _view(self, connection: Connection, scope: Scope, receipt_id: EventId) -> ReceiptView | None:
        tombstone = (await read_events(connection, [receipt_id])).get(receipt_id)
        if tombstone is None or not isinstance(tombstone.event, Tombstoned):
            return None
        event = tombstone.event
        if not await _reached(connection, scope, event):
            return None
        row = await connection.fetchrow(
            "select * from ops.erasure where tombstone = $1",
            receipt_id,
        )
        names, gone = await self._names(scope, event.injected), event.extent
        view = ReceiptView(
            receipt_id=receipt_id,
            memory_id=next(iter(event.memories), None),
            scope=event.scope,
            memories=gone.memories if gone is not None else None,
            messages=gone.messages if gone is not None else None,
            tenant_id=scope.tenant_id,
            tombstone_version=tombstone.version,
            decision="DELETION_PENDING",
            layers=(),
            negative_queries={},
            # at the earliest: while it is pending, keys may still be there
            keys_die_by=self._schedule.keys_die_by(datetime.now(UTC)),
            out_of_scope=OUT_OF_SCOPE,
            injected_turns=tuple(names[turn] for turn in event.injected if turn in names),
            requested_at=tombstone.recorded_at,
        )
        if row is None:
            return view
        findings = [LayerFinding.model_validate(each) for each in row["layers"]]
        return view.model_copy(
            update={
                "decision": _decision(row),
                "layers": _layers(findings),
                "negative_queries": row["negatives"],
                "keys_die_by": keys_die_by(self._schedule, datetime.now(UTC), findings)
                if row["statement"] is None
                else _signed(row["statement"]),
                "propagated_at": row["propagated_at"],
                "unasked": row["unasked"],
                "statement": row["statement"],
                "signature": row["signature"],
                "signing_key": row["signing_key"],
                "end": _end(row),
            }
        )

    async def _names(self, scope: Scope, turns: Sequence[TurnId]) -> Mapping[UUID, str]:
        """Return the outside ids of turns; none is left of somebody who was forgotten as a whole."""
        if not turns:
            return {}
        try:
            return await (await self._vault.keyring(scope)).outside(turns)
        except ErasedError:
            return {}


async def _reached(connection: Connection, scope: Scope, event: Tombstoned) -> bool:
    """Tell whether a deletion is one of what the scope reaches: all its memories, or the turns it took messages of.

    A whole person or tenant is nothing that a credential of one project or task reaches.
    """
    if scope.reach is None or (event.whole and scope.audience == PRIVATE):
        return True
    newer, _ = await newer_events(connection, scope)
    state = within(fold(await read_memories(connection, scope, event.memories), newer), scope)
    if event.memories:
        return {*event.memories} <= {memory for memory, _ in state}
    turns = await read_turns(connection, event.turns)
    audiences = [turn.event.audience for turn in turns if isinstance(turn.event, TurnFinalized)]
    return bool(audiences) and all(scope.admits(each) for each in audiences)


def _decision(row: Row) -> Decision:
    if row["purged_at"] is not None:
        return "deletion_purged"
    if row["closed_at"] is not None:
        return "closed_unproven"
    return "DELETION_PENDING" if row["propagated_at"] is None else "deletion_propagated"


def _layers(findings: Sequence[LayerFinding]) -> tuple[LayerView, ...]:
    return tuple(
        LayerView(
            layer=each.layer,
            state=each.state,
            checks=each.checks,
            queries=each.queries,
            holders=each.holders,
            position=each.position,
            copies=each.copies,
            at=each.at,
        )
        for each in findings
    )


def _end(row: Row) -> ReceiptEnd | None:
    at = row["purged_at"] or row["closed_at"]
    if at is None:
        return None
    return ReceiptEnd(
        layers=_layers([LayerFinding.model_validate(each) for each in row["purge_layers"]]),
        at=at,
        statement=row["second_statement"],
        signature=row["second_signature"],
    )


def _signed(statement: str) -> datetime | None:
    """Read out of a statement by when the keys die."""
    value = orjson.loads(statement)["keys_die_by"]
    return None if value is None else datetime.fromisoformat(value)


def _before(cursor: str) -> tuple[datetime, UUID]:
    at, event = read_cursor(cursor, datetime.fromisoformat, UUID)
    if at.tzinfo is None:
        raise BadInputError(FOREIGN)
    return at, event
