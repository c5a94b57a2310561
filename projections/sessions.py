"""The session store: which turns there were and who said what where; the words stay sealed in the log's bodies."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from events.envelope import StoredEvent
from events.model import (
    EventId,
    Expired,
    KeyId,
    MessageId,
    Origin,
    Role,
    Scope,
    SessionId,
    SummaryWritten,
    Tombstoned,
    TurnConsidered,
    TurnFinalized,
    TurnId,
)
from events.postgres import Connection, Row
from projections.model import Tables
from projections.summaries import end_summaries, write_summary


def message_part(message: MessageId) -> str:
    """Name the body part that holds a message."""
    return f"message:{message}"


def proposal_part(message: MessageId) -> str:
    """Name the body part that says what a message of a task's closing turn proposes to remember."""
    return f"proposal:{message}"


class Sessions(Tables):
    """The projection."""

    name: ClassVar[str] = "sessions"
    version: ClassVar[int] = 1

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Record turns and messages, which were considered, and which messages were forgotten or have expired."""
        for stored in events:
            event, scope = stored.event, stored.scope
            if isinstance(event, TurnFinalized):
                await _record(connection, place, stored, event)
            elif isinstance(event, TurnConsidered):
                await connection.execute(
                    f"update {place}.turn set considered = true where tenant_id = $1 and turn_id = $2",
                    scope.tenant_id,
                    event.turn_id,
                )
            elif isinstance(event, SummaryWritten):
                await write_summary(connection, place, stored, event)
            elif isinstance(event, Tombstoned | Expired):
                await end_summaries(connection, place, stored, event.keys)
                await connection.execute(
                    f"update {place}.message set forgotten = true"
                    " where tenant_id = $1 and message_id = any($2::uuid[])",
                    scope.tenant_id,
                    list(event.messages),
                )


async def _record(connection: Connection, place: str, stored: StoredEvent, event: TurnFinalized) -> None:
    scope = stored.scope
    await connection.execute(
        f"insert into {place}.turn values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
        " on conflict do nothing",
        scope.tenant_id,
        scope.subject_id,
        event.turn_id,
        event.session_id,
        stored.event_id,
        event.status,
        list(event.contexts),
        stored.position,
        stored.occurred_at,
        stored.recorded_at,
        False,  # noqa: FBT003 - a column value
        event.audience.project,
        event.audience.task,
    )
    keys = {part.name: part.key_id for part in stored.parts}
    await connection.execute(
        f"""insert into {place}.message
            select $1, $2, $3, m, n, r, o, k, false, $8
            from unnest($4::uuid[], $5::text[], $6::text[], $7::uuid[]) with ordinality as t(m, r, o, k, n)
            on conflict do nothing""",
        scope.tenant_id,
        scope.subject_id,
        event.turn_id,
        [message.message_id for message in event.messages],
        [message.role for message in event.messages],
        [message.origin for message in event.messages],
        [keys[message_part(message.message_id)] for message in event.messages],
        stored.recorded_at,
    )


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn of the session store."""

    turn_id: TurnId
    session_id: SessionId
    event_id: EventId
    occurred_at: datetime
    considered: bool


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message of the session store, without its words."""

    turn_id: TurnId
    message_id: MessageId
    event_id: EventId
    role: Role
    origin: Origin
    key_id: KeyId
    forgotten: bool


async def recent_turns(connection: Connection, scope: Scope, session: SessionId, limit: int) -> list[TurnRow]:
    """Read the last turns of a session, oldest first."""
    rows = await connection.fetch(
        """select turn_id, session_id, event_id, occurred_at, considered from sessions.turn
           where tenant_id = $1 and subject_id = $2 and session_id = $3
           order by occurred_at desc, position desc limit $4""",
        scope.tenant_id,
        scope.subject_id,
        session,
        limit,
    )
    return [_turn(row) for row in reversed(rows)]


async def count_turns(connection: Connection, scope: Scope, session: SessionId) -> int:
    """Count the turns of a session."""
    count: int = await connection.fetchval(
        "select count(*) from sessions.turn where tenant_id = $1 and subject_id = $2 and session_id = $3",
        scope.tenant_id,
        scope.subject_id,
        session,
    )
    return count


@dataclass(frozen=True, slots=True)
class Link:
    """A turn, another one of its session, and how many turns lie from the one to the other."""

    turn_id: TurnId
    neighbour: TurnId
    distance: int


async def turns_around(connection: Connection, scope: Scope, turns: Collection[TurnId], reach: int) -> list[Link]:
    """Find the turns of the same session up to `reach` turns before and behind each of some turns of one person.

    Costs two index reads of `reach` rows a turn, however long the session is.
    """
    rows = await connection.fetch(
        """select t.turn_id, n.turn_id as neighbour, n.distance
           from sessions.turn t cross join lateral (
             (select b.turn_id, row_number() over (order by b.occurred_at desc, b.position desc) as distance
              from sessions.turn b
              where b.tenant_id = t.tenant_id and b.subject_id = t.subject_id and b.session_id = t.session_id
                and (b.occurred_at, b.position) < (t.occurred_at, t.position)
              order by b.occurred_at desc, b.position desc limit $4)
             union all
             (select a.turn_id, row_number() over (order by a.occurred_at, a.position) as distance
              from sessions.turn a
              where a.tenant_id = t.tenant_id and a.subject_id = t.subject_id and a.session_id = t.session_id
                and (a.occurred_at, a.position) > (t.occurred_at, t.position)
              order by a.occurred_at, a.position limit $4)) n
           where t.tenant_id = $1 and t.subject_id = $2 and t.turn_id = any($3::uuid[])""",
        scope.tenant_id,
        scope.subject_id,
        list(turns),
        reach,
    )
    return [Link(TurnId(row["turn_id"]), TurnId(row["neighbour"]), row["distance"]) for row in rows]


async def messages_of(connection: Connection, scope: Scope, turns: Collection[TurnId]) -> list[MessageRow]:
    """Read the messages of some turns, in order."""
    rows = await connection.fetch(
        """select m.turn_id, m.message_id, t.event_id, m.role, m.origin, m.key_id, m.forgotten
           from sessions.message m join sessions.turn t using (tenant_id, turn_id)
           where m.tenant_id = $1 and m.subject_id = $2 and m.turn_id = any($3::uuid[])
           order by t.occurred_at, t.position, m.ordinal""",
        scope.tenant_id,
        scope.subject_id,
        list(turns),
    )
    return list(map(_message, rows))


async def messages_by_id(connection: Connection, scope: Scope, messages: Collection[MessageId]) -> list[MessageRow]:
    """Read some messages of one person, in the order in which they were said."""
    rows = await connection.fetch(
        """select m.turn_id, m.message_id, t.event_id, m.role, m.origin, m.key_id, m.forgotten
           from sessions.message m join sessions.turn t using (tenant_id, turn_id)
           where m.tenant_id = $1 and m.subject_id = $2 and m.message_id = any($3::uuid[])
           order by t.occurred_at, t.position, m.ordinal""",
        scope.tenant_id,
        scope.subject_id,
        list(messages),
    )
    return list(map(_message, rows))


async def turns_with_contexts(connection: Connection, scope: Scope, contexts: Collection[UUID]) -> set[TurnId]:
    """Say into which turns one of these compiled contexts was injected."""
    rows = await connection.fetch(
        "select turn_id from sessions.turn where tenant_id = $1 and subject_id = $2 and contexts && $3::uuid[]"
        " and cardinality(contexts) > 0",
        scope.tenant_id,
        scope.subject_id,
        list(contexts),
    )
    return {TurnId(row["turn_id"]) for row in rows}


async def turns_of_session(connection: Connection, scope: Scope, session: SessionId) -> set[TurnId]:
    """Name the turns of a session."""
    rows = await connection.fetch(
        "select turn_id from sessions.turn where tenant_id = $1 and subject_id = $2 and session_id = $3",
        scope.tenant_id,
        scope.subject_id,
        session,
    )
    return {TurnId(row["turn_id"]) for row in rows}


async def waiting(connection: Connection, older_than_s: float, limit: int) -> list[int]:
    """Return the positions of turns that were not considered although they are old enough, oldest first.

    Those whose job is a dead letter wait for its replay.
    """
    rows = await connection.fetch(
        """select position from sessions.turn where not considered
           and recorded_at < clock_timestamp() - make_interval(secs => $1)
           and not exists (select from ops.dead_letter d where d.stream = 'remember' and d.position = turn.position)
           order by recorded_at limit $2""",
        older_than_s,
        limit,
    )
    return [row["position"] for row in rows]


def _turn(row: Row) -> TurnRow:
    return TurnRow(
        TurnId(row["turn_id"]),
        SessionId(row["session_id"]),
        EventId(row["event_id"]),
        row["occurred_at"],
        row["considered"],
    )


def _message(row: Row) -> MessageRow:
    return MessageRow(
        TurnId(row["turn_id"]),
        MessageId(row["message_id"]),
        EventId(row["event_id"]),
        Role(row["role"]),
        Origin(row["origin"]),
        KeyId(row["key_id"]),
        row["forgotten"],
    )
