"""Writing the summary of a session: drafted, compared, and put in the old one's place only if it holds (R51)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal
from uuid import UUID, uuid4

import structlog

from events import failpoint
from events.envelope import Command, NewEvent, Part, memory_stream, summary_stream
from events.keyring import Keyring
from events.log import append, fenced, read_stream
from events.model import (
    CommandId,
    Expired,
    ItemBody,
    ItemId,
    Scope,
    SessionId,
    SummaryHeld,
    SummaryLine,
    SummaryWritten,
)
from events.postgres import Connection, Database
from events.vault import Vault
from projections.sessions import count_turns
from projections.summaries import Summary, summary_of
from projections.task_state import item_part
from services.summaries.check import problems
from services.summaries.draft import Draft, Drafter
from services.summaries.gather import gather

EVERY: Final = 6
"""After how many turns a session gets a new summary."""

_TRIES: Final = 4
_ACTOR: Final = "worker:remember"
log = structlog.get_logger(__name__)

Outcome = Literal["written", "held", "not_due", "lost"]


@dataclass(frozen=True, slots=True)
class _Standing:
    """How a session's summary stands: the version of its stream, the turns that were looked at, the newest summary."""

    version: int
    turns: int
    newest: Summary | None


@dataclass(frozen=True, slots=True)
class _Drafted:
    """A new summary over so many turns, what speaks against it, and what it would stand in the place of."""

    session: SessionId
    turns: int
    draft: Draft
    reasons: dict[str, int]
    standing: _Standing

    @property
    def sources(self) -> set[UUID]:
        """What it rests on."""
        return {each for line in self.draft.lines for each in (*line.memories, *line.messages)}


class Summaries:
    """Writes summaries.

    Args:
        vault: with the right to lease keys.
        appender: a pool under `cenotaph_appender`.
        reader: a pool under `cenotaph_reader`.
        drafter: writes the lines.
        days: how long a summary is kept: as long as the messages it rests on.
    """

    def __init__(self, vault: Vault, appender: Database, reader: Database, drafter: Drafter, *, days: int) -> None:
        self._drafter = drafter
        self._vault = vault
        self._appender = appender
        self._reader = reader
        self._kept = timedelta(days=days)

    async def refresh(self, scope: Scope, session: SessionId, *, every: int = EVERY) -> Outcome:
        """Write a new summary once `every` turns have come since the last one was written or held.

        Whatever it rests on may be forgotten meanwhile: then it is drafted anew from what is left (R41). `lost` says
        that somebody else kept writing; a later turn tries again.
        """
        keyring = await self._vault.keyring(scope)
        for _ in range(_TRIES):
            async with self._reader.transaction(scope) as connection:
                standing = await _standing(connection, scope, session)
                turns = await count_turns(connection, scope, session)
                if turns - standing.turns < every:
                    return "not_due"
                material = await gather(connection, keyring, session, standing.newest)
            draft = await self._drafter.draft(scope.tenant_id, material)
            failpoint.hit("summary.drafted")
            drafted = _Drafted(session, turns, draft, problems(draft.lines, material), standing)
            outcome = await self._write(keyring, drafted)
            if outcome is not None:
                return outcome
        return "lost"

    async def _write(self, keyring: Keyring, drafted: _Drafted) -> Outcome | None:
        """Append what came of it; None where a source was forgotten meanwhile, or somebody else wrote."""
        scope, session = keyring.scope, drafted.session
        events = await self._events(keyring, drafted, datetime.now(UTC))
        command = Command(CommandId(uuid4()), scope, summary_stream(session), drafted.standing.version, _ACTOR, events)
        async with self._appender.transaction() as writing:
            # a forget holds the same stream: either it finds this summary, or this finds its fence (ADR 0009)
            await writing.fetchval(
                "select log.lock_stream_v1($1, $2)", scope.tenant_id, memory_stream(scope.subject_id)
            )
            async with self._reader.transaction(scope) as reading:
                if await fenced(reading, scope, drafted.sources):
                    return None
            (answer,) = await append(writing, [command])
        failpoint.hit("summary.appended")
        if answer.outcome == "conflict":
            return None
        return "held" if drafted.reasons else "written"

    async def _events(self, keyring: Keyring, drafted: _Drafted, now: datetime) -> tuple[NewEvent, ...]:
        session, turns, lines, writer = drafted.session, drafted.turns, drafted.draft.lines, drafted.draft.writer
        if drafted.reasons:
            log.warning("summary_held", session=str(session), reasons=sorted(drafted.reasons))
            held = SummaryHeld(session_id=session, turns=turns, reasons=drafted.reasons, writer=writer)
            return (NewEvent(held, now),)
        heads = tuple(
            SummaryLine(item_id=ItemId(uuid4()), slot=line.slot, memories=line.memories, messages=line.messages)
            for line in lines
        )
        keys = await keyring.lease(len(lines))
        parts = tuple(
            Part(item_part(head.item_id), ItemBody(text=line.text), key)
            for head, line, key in zip(heads, lines, keys, strict=True)
        )
        expires = now + self._kept
        written = SummaryWritten(session_id=session, turns=turns, items=heads, expires_at=expires, writer=writer)
        events = (NewEvent(written, now, parts),)
        newest = drafted.standing.newest
        if newest is None or not newest.items:
            return events
        old = tuple(item.key_id for item in newest.items)
        return (*events, NewEvent(Expired(memories=(), messages=(), keys=old), now))


async def _standing(connection: Connection, scope: Scope, session: SessionId) -> _Standing:
    """Read how a session's summary stands off its own stream, so that nothing lags."""
    stream = await read_stream(connection, scope, summary_stream(session))
    turns, newest = 0, None
    for stored in stream:
        if isinstance(event := stored.event, SummaryWritten):
            turns, newest = event.turns, summary_of(stored, event)
        elif isinstance(event, SummaryHeld):
            turns = event.turns
    return _Standing(stream[-1].version if stream else 0, turns, newest)
