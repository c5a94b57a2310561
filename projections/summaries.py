"""The newest summary of each session, as tables of the session store; the texts stay sealed in the log (R51)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from events.envelope import StoredEvent
from events.model import (
    EventId,
    ItemId,
    KeyId,
    MemoryId,
    MessageId,
    Scope,
    SessionId,
    SummarySlot,
    SummaryWritten,
)
from events.postgres import Connection, Row
from projections.task_state import Item, item_part


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary without its texts; `items` in the order in which they were written."""

    session_id: SessionId
    event_id: EventId
    version: int
    turns: int
    written_at: datetime
    expires_at: datetime
    items: tuple[Item, ...]


def summary_of(stored: StoredEvent, event: SummaryWritten) -> Summary:
    """Read what an event wrote."""
    keys = {part.name: part.key_id for part in stored.parts}
    return Summary(
        event.session_id,
        stored.event_id,
        stored.version,
        event.turns,
        stored.recorded_at,
        event.expires_at,
        tuple(
            Item(
                item_id=line.item_id,
                slot=line.slot,
                standing="stands",
                memories=line.memories,
                messages=line.messages,
                event_id=stored.event_id,
                key_id=keys[item_part(line.item_id)],
                version=stored.version,
            )
            for line in event.items
        ),
    )


async def write_summary(connection: Connection, place: str, stored: StoredEvent, event: SummaryWritten) -> None:
    """Put a summary in the place of the session's one before."""
    scope, summary = stored.scope, summary_of(stored, event)
    await connection.execute(
        f"""insert into {place}.summary values ($1, $2, $3, $4, $5, $6, $7, $8)
            on conflict (tenant_id, session_id) do update set event_id = excluded.event_id, version = excluded.version,
              turns = excluded.turns, written_at = excluded.written_at, expires_at = excluded.expires_at""",
        scope.tenant_id,
        scope.subject_id,
        summary.session_id,
        summary.event_id,
        summary.version,
        summary.turns,
        summary.written_at,
        summary.expires_at,
    )
    await connection.execute(
        f"delete from {place}.summary_item where tenant_id = $1 and session_id = $2", scope.tenant_id, event.session_id
    )
    for ordinal, item in enumerate(summary.items):
        await connection.execute(
            f"insert into {place}.summary_item values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, false)",
            scope.tenant_id,
            scope.subject_id,
            summary.session_id,
            item.item_id,
            ordinal,
            item.slot,
            list(item.memories),
            list(item.messages),
            item.event_id,
            item.key_id,
            item.version,
        )


async def end_summaries(connection: Connection, place: str, stored: StoredEvent, keys: Collection[KeyId]) -> None:
    """Mark the texts whose keys go."""
    await connection.execute(
        f"update {place}.summary_item set gone = true where tenant_id = $1 and key_id = any($2::uuid[])",
        stored.scope.tenant_id,
        list(keys),
    )


async def read_summary(connection: Connection, scope: Scope, session: SessionId) -> Summary | None:
    """Read a session's summary with the texts that are not gone; None where it has none."""
    row = await connection.fetchrow(
        "select * from sessions.summary where tenant_id = $1 and subject_id = $2 and session_id = $3",
        scope.tenant_id,
        scope.subject_id,
        session,
    )
    if row is None:
        return None
    items = await connection.fetch(
        """select * from sessions.summary_item
           where tenant_id = $1 and subject_id = $2 and session_id = $3 and not gone order by ordinal""",
        scope.tenant_id,
        scope.subject_id,
        session,
    )
    return Summary(
        session,
        EventId(row["event_id"]),
        row["version"],
        row["turns"],
        row["written_at"],
        row["expires_at"],
        tuple(map(_item, items)),
    )


async def lapsed_summaries(connection: Connection, now: datetime) -> list[Row]:
    """Name all people, by tenant and person, with a summary whose time is over, the longest ago first."""
    return await connection.fetch(
        """select s.tenant_id, s.subject_id from sessions.summary s where s.expires_at < $1 and exists (
             select from sessions.summary_item i where i.tenant_id = s.tenant_id and i.session_id = s.session_id
               and not i.gone)
           group by s.tenant_id, s.subject_id order by min(s.expires_at), s.tenant_id, s.subject_id""",
        now,
    )


async def lapsed_keys(connection: Connection, scope: Scope, now: datetime) -> dict[SessionId, list[KeyId]]:
    """Name the keys of one person's summaries whose time is over, by session."""
    rows = await connection.fetch(
        """select i.session_id, i.key_id
           from sessions.summary s join sessions.summary_item i using (tenant_id, session_id)
           where s.expires_at < $1 and not i.gone and s.tenant_id = $2 and s.subject_id = $3
           order by i.session_id, i.ordinal""",
        now,
        scope.tenant_id,
        scope.subject_id,
    )
    found: dict[SessionId, list[KeyId]] = {}
    for row in rows:
        found.setdefault(SessionId(row["session_id"]), []).append(KeyId(row["key_id"]))
    return found


def _item(row: Row) -> Item:
    return Item(
        item_id=ItemId(row["item_id"]),
        slot=SummarySlot(row["slot"]),
        standing="stands",
        memories=tuple(map(MemoryId, row["memories"])),
        messages=tuple(map(MessageId, row["messages"])),
        event_id=EventId(row["event_id"]),
        key_id=KeyId(row["key_id"]),
        version=row["version"],
    )
