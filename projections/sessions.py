"""The session store: which turns there were and who said what where; the words stay sealed in the log's bodies."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from events.envelope import StoredEvent
from events.model import (
    Audience,
    EventId,
    Expired,
    KeyId,
    MessageId,
    Origin,
    Position,
    Role,
    Scope,
    SessionConsolidated,
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
            elif isinstance(event, SessionConsolidated):
                await connection.execute(
                    f"update {place}.turn set consolidated = true"
                    " where tenant_id = $1 and subject_id = $2 and session_id = $3 and position <= $4",
                    scope.tenant_id,
                    scope.subject_id,
                    event.session_id,
                    event.through,
                )
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
        f"""insert into {place}.turn values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
                                            $16, $17)
            on conflict do nothing""",
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
        event.audience.assistant,
        event.audience.purpose,
        list(event.rests_on),
        not any(head.origin is Origin.USER for head in event.messages),
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


async def newest_messages(connection: Connection, scope: Scope, limit: int) -> list[MessageRow]:
    """Read the newest messages of one person, in all sessions, whose turns were considered and whose words stand."""
    rows = await connection.fetch(
        """select m.turn_id, m.message_id, t.event_id, m.role, m.origin, m.key_id, m.forgotten
           from sessions.message m join sessions.turn t using (tenant_id, turn_id)
           where m.tenant_id = $1 and m.subject_id = $2 and not m.forgotten and t.considered
           order by m.recorded_at desc, m.message_id limit $3""",
        scope.tenant_id,
        scope.subject_id,
        limit,
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


@dataclass(frozen=True, slots=True)
class Quiet:
    """A session in which nothing was said for a while: its turns since it was consolidated, oldest first."""

    session_id: SessionId
    turns: Mapping[TurnId, Audience]
    through: Position
    last_at: datetime


_QUIET = """
select {columns} from sessions.turn
where not consolidated and recorded_at >= $1 {own}
group by tenant_id, subject_id, session_id
having max(recorded_at) < $2 and count(*) >= $3 and bool_and(considered)
"""


async def quiet_people(connection: Connection, since: datetime, until: datetime, least: int) -> list[Row]:
    """Name the people, by tenant and person, who have a quiet session, that of the longest ago first.

    Args:
        connection: of a role that sees all people.
        since: how far back messages can be read.
        until: a session is quiet whose last turn came before that.
        least: how many turns it must have.
    """
    own = _QUIET.format(columns="tenant_id, subject_id, max(recorded_at) as last", own="")
    return await connection.fetch(
        f"select tenant_id, subject_id from ({own}) quiet group by tenant_id, subject_id"
        " order by min(last), tenant_id, subject_id",
        since,
        until,
        least,
    )


async def quiet_sessions(  # noqa: PLR0917 - the bounds of one question
    connection: Connection, scope: Scope, since: datetime, until: datetime, least: int, most: int
) -> list[Quiet]:
    """Read quiet sessions of one person, at most so many; the bounds are those of `quiet_people`."""
    own = _QUIET.format(
        columns="session_id, max(position) as through, max(occurred_at) as last_at,"
        " array_agg(turn_id order by occurred_at, position) as turns,"
        " array_agg(json_build_object('project', project, 'task', task, 'assistant', assistant, 'purpose',"
        " purpose)::text order by occurred_at, position) as audiences",
        own="and tenant_id = $4 and subject_id = $5",
    )
    asked = (since, until, least, scope.tenant_id, scope.subject_id, most)
    rows = await connection.fetch(f"{own} order by through limit $6", *asked)
    return [
        Quiet(
            SessionId(row["session_id"]),
            {
                TurnId(turn): Audience.model_validate_json(audience)
                for turn, audience in zip(row["turns"], row["audiences"], strict=True)
            },
            Position(row["through"]),
            row["last_at"],
        )
        for row in rows
    ]


async def turns_resting_on(connection: Connection, scope: Scope, messages: Collection[MessageId]) -> set[TurnId]:
    """Say which turns upkeep made of some messages."""
    rows = await connection.fetch(
        "select turn_id from sessions.turn where tenant_id = $1 and subject_id = $2 and rests_on && $3::uuid[]"
        " and cardinality(rests_on) > 0",
        scope.tenant_id,
        scope.subject_id,
        list(messages),
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
