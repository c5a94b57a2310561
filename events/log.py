"""The log: append commands, read streams and the sealed tail, open bodies (R2, R3)."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

import asyncpg

from events.batcher import Batcher
from events.envelope import Command, SealedCommand, SealedEvent, StoredEvent, finalized_command, seal, stored
from events.errors import ConcurrencyError, ErasedError, TamperError
from events.model import CommandId, EventId, KeyId, Position, Scope, SubjectId, TenantId, TurnId
from events.postgres import Connection, Database, Row

_BATCH = 256
_AT_ONCE = 4

_APPEND = """
select command, outcome, first_version, last_version from log.append_v1(
  $1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::integer[],
  $6::integer[], $7::uuid[], $8::integer[], $9::uuid[], $10::text[], $11::smallint[], $12::timestamptz[], $13::bytea[],
  $14::integer[], $15::text[], $16::uuid[], $17::bytea[])
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one command; `versions` are the first and last of its events, None where nothing was appended.

    `erased` says that whose stream it is was forgotten as a whole.
    """

    outcome: Literal["appended", "known", "conflict", "erased"]
    versions: tuple[int, int] | None


class EventLog:
    """The only way to write: concurrent appends are coalesced into few transactions (group commit).

    Args:
        database: a pool under `cenotaph_appender`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._batcher: Batcher[SealedCommand, Answer] = Batcher(
            self._append_sealed, "append", at_once=_AT_ONCE, batch=_BATCH
        )

    async def append(self, command: Command) -> Answer:
        """Append a command or learn that it is already known. Returns after the commit.

        Raises:
            ConcurrencyError: the stream moved; nothing was written.
            ErasedError: the person or the tenant was forgotten; nothing was written.
            UnavailableError: the database does not answer; whether it was written is unknown, repeat the same command.
        """
        return await self.append_sealed(seal(command))

    async def append_sealed(self, sealed: SealedCommand) -> Answer:
        """Append a command whose bodies are sealed already; otherwise like `append`."""
        answer = await self._batcher.ask(sealed)
        if answer.outcome == "conflict":
            raise ConcurrencyError(sealed.command.stream, sealed.command.expected or 0)
        if answer.outcome == "erased":
            raise ErasedError(sealed.command.scope.subject_id)
        return answer

    async def append_many(self, commands: Sequence[Command]) -> list[Answer]:
        """Append a batch in one transaction, each command with an answer of its own."""
        return await self._append_sealed([seal(command) for command in commands])

    async def close(self) -> None:
        """Stop the writers; what is queued fails."""
        await self._batcher.close()

    async def _append_sealed(self, commands: Sequence[SealedCommand]) -> list[Answer]:
        async with self._database.connection() as connection:
            return await append_sealed(connection, commands)


async def append(connection: Connection, commands: Sequence[Command]) -> list[Answer]:
    """Append commands through a connection of the caller, in the caller's transaction if it has one."""
    return await append_sealed(connection, [seal(command) for command in commands])


async def append_sealed(connection: Connection, commands: Sequence[SealedCommand]) -> list[Answer]:
    """Append commands that are sealed already; otherwise like `append`."""
    order = sorted(
        range(len(commands)),
        key=lambda index: (commands[index].command.scope.tenant_id.bytes, commands[index].command.stream),
    )
    ordered = [commands[index].command for index in order]
    events: list[tuple[int, Command, SealedEvent]] = [
        (number, commands[index].command, event)
        for number, index in enumerate(order, 1)
        for event in commands[index].events
    ]
    bodies = [(number, part) for number, (_, _, event) in enumerate(events, 1) for part in event.parts]
    rows = await connection.fetch(
        _APPEND,
        [command.command_id for command in ordered],
        [command.scope.tenant_id for command in ordered],
        [command.stream for command in ordered],
        [command.expected for command in ordered],
        [len(command.events) for command in ordered],
        [number for number, _, _ in events],
        [event.event_id for _, _, event in events],
        [event.ordinal for _, _, event in events],
        [command.scope.subject_id for _, command, _ in events],
        [event.event.type for _, _, event in events],
        [event.event.schema_version for _, _, event in events],
        [event.occurred_at for _, _, event in events],
        [event.envelope for _, _, event in events],
        [number for number, _ in bodies],
        [part.name for _, part in bodies],
        [part.key_id for _, part in bodies],
        [part.ciphertext for _, part in bodies],
    )
    answers: list[Answer] = [Answer("conflict", None)] * len(commands)
    for row in rows:
        versions = None if row["first_version"] is None else (row["first_version"], row["last_version"])
        answers[order[row["command"] - 1]] = Answer(row["outcome"], versions)
    return answers


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def read_stream(connection: Connection, scope: Scope, stream: str, after: int = 0) -> list[StoredEvent]:
    """Read one stream in order, sealed or not, from the version behind `after`."""
    rows = await connection.fetch(
        """select e.envelope, s.position from log.event e left join log.sealed s using (seq)
           where e.tenant_id = $1 and e.stream = $2 and e.version > $3 order by e.version""",
        scope.tenant_id,
        stream,
        after,
    )
    return [stored(row["envelope"], row["position"]) for row in rows]


async def read_last(connection: Connection, scope: Scope, stream: str) -> StoredEvent | None:
    """Read the newest event of one stream, sealed or not."""
    rows = await connection.fetch(
        """select e.envelope, s.position from log.event e left join log.sealed s using (seq)
           where e.tenant_id = $1 and e.stream = $2 order by e.version desc limit 1""",
        scope.tenant_id,
        stream,
    )
    return stored(rows[0]["envelope"], rows[0]["position"]) if rows else None


async def read_choices(connection: Connection, scope: Scope, stream: str) -> list[StoredEvent]:
    """Read a person's consents and suppressions in order; costs what there is of them, not what the stream holds."""
    rows = await connection.fetch(
        """select e.envelope, s.position from log.event e left join log.sealed s using (seq)
           where e.tenant_id = $1 and e.stream = $2
             and e.type in ('consent_given', 'consent_withdrawn', 'suppression_asked') order by e.version""",
        scope.tenant_id,
        stream,
    )
    return [stored(row["envelope"], row["position"]) for row in rows]


async def read_tombstones(connection: Connection, scope: Scope, stream: str, since: datetime) -> list[StoredEvent]:
    """Read the tombstones of one stream that were recorded at or after a moment, sealed or not."""
    rows = await connection.fetch(
        """select envelope from log.event
           where tenant_id = $1 and stream = $2 and type = 'tombstoned' and recorded_at >= $3""",
        scope.tenant_id,
        stream,
        since,
    )
    return [stored(row["envelope"], None) for row in rows]


async def read_embedded(connection: Connection, scope: Scope, stream: str, before: int) -> list[StoredEvent]:
    """Read the `embedded` events of one stream before a version, in order; costs what there is of them."""
    rows = await connection.fetch(
        """select e.envelope, s.position from log.event e left join log.sealed s using (seq)
           where e.tenant_id = $1 and e.stream = $2 and e.type = 'embedded' and e.version < $3 order by e.version""",
        scope.tenant_id,
        stream,
        before,
    )
    return [stored(row["envelope"], row["position"]) for row in rows]


async def read_command(connection: Connection, command_id: CommandId) -> list[StoredEvent]:
    """Read the events of one command, none if it is unknown."""
    return await read_commands(connection, [command_id])


async def read_commands(connection: Connection, commands: Collection[CommandId]) -> list[StoredEvent]:
    """Read the events of some commands, of each in order; an unknown one has none."""
    rows = await connection.fetch(
        """select e.envelope, s.position from log.event e left join log.sealed s using (seq)
           where e.command_id = any($1::uuid[]) order by e.command_id, e.ordinal""",
        list(commands),
    )
    return [stored(row["envelope"], row["position"]) for row in rows]


async def read_events(connection: Connection, event_ids: Iterable[EventId]) -> dict[EventId, StoredEvent]:
    """Read events by id."""
    rows = await connection.fetch(
        """select e.envelope, s.position from log.event e left join log.sealed s using (seq)
           where e.event_id = any($1::uuid[])""",
        list(event_ids),
    )
    events = (stored(row["envelope"], row["position"]) for row in rows)
    return {event.event_id: event for event in events}


async def read_sealed(connection: Connection, after: Position, limit: int) -> list[StoredEvent]:
    """Read the sealed tail behind a position: dense positions, in order, none ever missing."""
    rows = await connection.fetch(
        """select s.position, e.envelope from log.sealed s join log.event e using (seq)
           where s.position > $1 order by s.position limit $2""",
        after,
        limit,
    )
    return [stored(row["envelope"], row["position"]) for row in rows]


async def read_window(
    connection: Connection,
    tenant: TenantId,
    positions: tuple[Position, Position],
    *,
    subject: SubjectId | None,
    kind: str | None,
) -> list[StoredEvent]:
    """Read one tenant's sealed events behind a position and up to another: all, one person's, those of one type.

    Raises:
        TamperError: the columns that were asked say another tenant or person than the envelope.
    """
    rows = await connection.fetch(
        """select s.position, e.envelope from log.sealed s join log.event e using (seq)
           where s.position > $1 and s.position <= $2 and e.tenant_id = $3 and ($4::uuid is null or e.subject_id = $4)
             and ($5::text is null or e.type = $5) order by s.position""",
        *positions,
        tenant,
        subject,
        kind,
    )
    events = [stored(row["envelope"], row["position"]) for row in rows]
    for event in events:
        if event.scope.tenant_id != tenant or subject not in {None, event.scope.subject_id}:
            raise TamperError(f"position {event.position}: a column contradicts the envelope; run `cenotaph verify`")
    return events


async def read_at(connection: Connection, position: Position) -> StoredEvent | None:
    """Read the sealed event at one position."""
    events = await read_sealed(connection, Position(position - 1), 1)
    return events[0] if events else None


async def read_turns(connection: Connection, turns: Iterable[TurnId]) -> list[StoredEvent]:
    """Read the `turn_finalized` events of some turns, in the order asked."""
    return [event for turn in turns for event in await read_command(connection, finalized_command(turn))]


async def read_stream_behind(connection: Connection, scope: Scope, stream: str, after: Position) -> list[StoredEvent]:
    """Read the events of one stream behind a position, the unsealed too; costs what lies there, not what it holds."""
    rows = await connection.fetch(
        # the limit keeps the planner from reading all of log.sealed for the third of the stream that it expects
        """select e.envelope, s.position from log.event e
           left join lateral (select position from log.sealed where seq = e.seq limit 1) s on true
           where e.tenant_id = $1 and e.stream = $2 and e.version > (select coalesce(
             (select b.version from log.event b join log.sealed t using (seq)
              where b.tenant_id = $1 and b.stream = $2 and t.position <= $3 order by b.version desc limit 1), 0))
           order by e.version""",
        scope.tenant_id,
        stream,
        after,
    )
    return [stored(row["envelope"], row["position"]) for row in rows]


async def read_bodies(connection: Connection, event_ids: Iterable[EventId]) -> dict[tuple[EventId, str], bytes]:
    """Read the ciphertexts that are still there, by event and part."""
    rows: list[Row] = await connection.fetch(
        "select event_id, part, ciphertext from log.body where event_id = any($1::uuid[])", list(event_ids)
    )
    return {(EventId(row["event_id"]), row["part"]): row["ciphertext"] for row in rows}


async def read_parts(
    connection: Connection, event_ids: Iterable[EventId], part: str
) -> list[tuple[StoredEvent, bytes | None]]:
    """Read events by id, without their positions, each with the ciphertext of one part, None where it is not there."""
    rows = await connection.fetch(
        """select e.envelope, b.ciphertext from log.event e
           left join lateral (select ciphertext from log.body where event_id = e.event_id and part = $2 limit 1) b
             on true
           where e.event_id = any($1::uuid[])""",
        list(event_ids),
        part,
    )
    return [(stored(row["envelope"], None), row["ciphertext"]) for row in rows]


async def fenced(connection: Connection, scope: Scope, targets: Iterable[UUID | KeyId]) -> set[UUID]:
    """Say which of these memories, messages or keys may not be read again: all, where the whole person may not."""
    wanted = set[UUID](targets)
    whole = {scope.tenant_id, scope.subject_id}
    rows = await connection.fetch(
        "select target from log.fence where tenant_id = $1 and target = any($2::uuid[])",
        scope.tenant_id,
        [*whole, *wanted],
    )
    found = {row["target"] for row in rows}
    return wanted if found & whole else found


async def expired(connection: Connection, scope: Scope, targets: Iterable[UUID]) -> set[UUID]:
    """Say which of these may not be read again because they were kept as long as they may be, not because of a wish."""
    rows = await connection.fetch(
        """select f.target from log.fence f join log.event e using (event_id)
           where f.tenant_id = $1 and f.target = any($2::uuid[]) and e.type = 'expired'""",
        scope.tenant_id,
        list(targets),
    )
    return {row["target"] for row in rows}


async def head(connection: Connection) -> Position:
    """Return the last sealed position, -1 for an empty log."""
    size: int = await connection.fetchval("select size from log.head")
    return Position(size - 1)


class Tail:
    """Wakes readers when the sealer has sealed: NOTIFY where it arrives, a poll where it does not.

    Args:
        url: the log's database; the listener holds a direct connection outside any pool.
        poll_s: the longest a reader waits without a notification.
        channel: what to listen to, where it is not the sealer.
    """

    def __init__(self, url: str, poll_s: float = 0.5, channel: str = "log") -> None:
        self._channel = channel
        self._url = url.replace("postgresql+asyncpg://", "postgresql://")
        self._poll_s = poll_s
        self._connection: asyncpg.Connection | None = None
        self._bell = asyncio.Event()

    async def wait(self) -> None:
        """Return at the next seal, or after the poll interval."""
        if self._connection is None or self._connection.is_closed():
            with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                self._connection = await asyncpg.connect(self._url)
                await self._connection.add_listener(self._channel, self._ring)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._bell.wait(), self._poll_s)
        self._bell.clear()

    def _ring(self, *_: object) -> None:
        self._bell.set()

    async def close(self) -> None:
        """Drop the listener."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
