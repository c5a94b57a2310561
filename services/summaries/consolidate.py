"""Consolidating sessions that are over: what happened in them is proposed for memory (R53). A job of upkeep."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Final
from uuid import uuid5

from events import failpoint
from events.envelope import (
    Command,
    DataKey,
    NewEvent,
    Part,
    finalized_command,
    memory_stream,
    summary_stream,
    turns_stream,
)
from events.keyring import Keyring
from events.log import append, read_last
from events.model import (
    Audience,
    CommandId,
    MemoryBody,
    MessageBody,
    MessageHead,
    MessageId,
    Origin,
    ProposalBody,
    Role,
    Scope,
    SessionConsolidated,
    SessionId,
    TurnFinalized,
    TurnId,
    TurnStatus,
)
from events.postgres import Connection, Database
from events.vault import Vault
from projections.changes import LIVING
from projections.facts import memories_of_turns
from projections.memories import open_memories
from projections.sessions import Quiet, message_part, proposal_part, quiet_people, quiet_sessions
from services.access.spoken import spoken
from services.summaries.draft import Heard, Known
from services.summaries.episodes import WRITER, Proposal, proposals
from services.upkeep.job import ACTOR, Action, Plan, scopes_of
from services.upkeep.rules import UpkeepRules

_EACH: Final = 20
_USER: Final = frozenset({Origin.USER})


@dataclass(frozen=True, slots=True)
class _Drafted:
    """What a session leaves behind; `version` is that of its summary stream before, `chosen` of the memory stream."""

    session: Quiet
    version: int
    chosen: int
    proposals: tuple[tuple[Audience, Proposal], ...]

    @property
    def turns(self) -> tuple[TurnId, ...]:
        """The turns that propose it: of the same session at the same point always the same."""
        through = self.session.through
        return tuple(TurnId(uuid5(self.session.session_id, f"{through}|{n}")) for n in range(len(self.proposals)))


class Consolidate:
    """Proposes what happened in sessions in which nothing was said for some hours, each session once at each point.

    Nothing is decided here: every proposal is a turn of its own, which the gates judge like a task's conclusions. What
    was forgotten, refused, set aside or blinded is not read; what is forgotten later takes along what rests on it.

    Args:
        pools: of the eraser, who sees whose sessions are over, of the appender and of the reader.
        vault: with the right to lease keys.
        rules: how long a session must be quiet, how long it must be, how many of one person a round takes.
        message_days: how long messages can be read.
    """

    name: ClassVar[str] = "consolidate"

    def __init__(
        self, pools: tuple[Database, Database, Database], vault: Vault, rules: UpkeepRules, message_days: int
    ) -> None:
        self._eraser, self._appender, self._reader = pools
        self._vault = vault
        self._rules = rules.consolidate
        self._kept = timedelta(days=message_days)

    async def due(self, now: datetime) -> list[Scope]:
        """Name whose sessions are over, the longest ago first."""
        since, until = self._between(now)
        async with self._eraser.connection() as connection:
            return scopes_of(await quiet_people(connection, since, until, self._rules.turns))

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say which sessions would be consolidated, and what of them would be proposed."""
        drafted = await self._drafts(await self._vault.keyring(scope), now)
        if not drafted:
            return None
        found = tuple(each.session.session_id for each in drafted if each.proposals)
        empty = tuple(each.session.session_id for each in drafted if not each.proposals)
        rested = tuple(dict.fromkeys(m for each in drafted for _, one in each.proposals for m in one.messages))
        actions = [Action(what="consolidate", reason="quiet", summaries=found, messages=rested)] if found else []
        actions += [Action(what="consolidate", reason="nothing_found", summaries=empty)] if empty else []
        return Plan(self.name, scope, 0, tuple(actions), tuple(_event(each) for each in drafted))

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """Propose it; False where somebody spoke, forgot or consolidated meanwhile: the next round looks again."""
        keyring = await self._vault.keyring(plan.scope)
        drafted = await self._drafts(keyring, now)
        if tuple(map(_event, drafted)) != plan.events:
            return False
        return all([await self._write(keyring, each, now) for each in drafted])

    async def _drafts(self, keyring: Keyring, now: datetime) -> list[_Drafted]:
        scope = keyring.scope
        since, until = self._between(now)
        async with self._reader.transaction(scope) as connection:
            sessions = await quiet_sessions(connection, scope, since, until, self._rules.turns, self._rules.sessions)
            return [await self._draft(connection, keyring, each) for each in sessions]

    async def _draft(self, connection: Connection, keyring: Keyring, session: Quiet) -> _Drafted:
        scope = keyring.scope
        version = await _version(connection, scope, summary_stream(session.session_id))
        chosen = await _version(connection, scope, memory_stream(scope.subject_id))
        said = await spoken(connection, keyring, session.turns, _USER)
        known = await _known(connection, keyring, session.turns)
        heard: dict[Audience, list[Heard]] = defaultdict(list)
        for number, each in enumerate(said):  # what was said for some readers is made something of for those only
            message = Heard(each.row.message_id, each.row.origin, each.text, number, "")
            heard[session.turns[each.row.turn_id]].append(message)
        found = [(audience, one) for audience, own in heard.items() for one in proposals(own, known)]
        return _Drafted(session, version, chosen, tuple(found))

    async def _write(self, keyring: Keyring, drafted: _Drafted, now: datetime) -> bool:
        """Append the turns and that the session is done, together, behind the fence."""
        scope, session = keyring.scope, drafted.session
        keys = await keyring.lease(len(drafted.proposals))
        event = _event(drafted)
        command_id = CommandId(uuid5(session.session_id, f"consolidated|{session.through}"))
        stream = summary_stream(session.session_id)
        done = Command(command_id, scope, stream, drafted.version, ACTOR, (NewEvent(event, now),))
        turns = [
            _turn(scope, turn, (audience, proposal), key, session.last_at)
            for turn, (audience, proposal), key in zip(drafted.turns, drafted.proposals, keys, strict=True)
        ]
        failpoint.hit("consolidate.drafted")
        async with self._appender.transaction() as writing:
            # a forget holds the same stream (ADR 0009); whatever the person chose since this was read is behind it
            await writing.fetchval(
                "select log.lock_stream_v1($1, $2)", scope.tenant_id, memory_stream(scope.subject_id)
            )
            async with self._reader.transaction(scope) as reading:
                if await _version(reading, scope, memory_stream(scope.subject_id)) != drafted.chosen:
                    return False
            answers = await append(writing, [done, *turns])
        failpoint.hit("consolidate.appended")
        return answers[0].outcome == "appended"

    def _between(self, now: datetime) -> tuple[datetime, datetime]:
        return now - self._kept, now - timedelta(hours=self._rules.quiet_hours)


async def _version(connection: Connection, scope: Scope, stream: str) -> int:
    last = await read_last(connection, scope, stream)
    return 0 if last is None else last.version


def _event(drafted: _Drafted) -> SessionConsolidated:
    session = drafted.session
    return SessionConsolidated(
        session_id=session.session_id, through=session.through, reason="quiet", proposed=drafted.turns, writer=WRITER
    )


async def _known(connection: Connection, keyring: Keyring, turns: Collection[TurnId]) -> tuple[Known, ...]:
    known = await memories_of_turns(connection, keyring.scope, turns, _EACH)
    facts = [each for each in known.values() if each.status in LIVING]
    opened = await open_memories(connection, keyring, facts)
    return tuple(
        Known(fact.memory_id, body.content, fact.cites)
        for fact in facts
        if isinstance(body := opened.get(fact.event_id), MemoryBody)
    )


def _turn(scope: Scope, turn: TurnId, proposed: tuple[Audience, Proposal], key: DataKey, at: datetime) -> Command:
    """Seal one proposal as a turn of its own; its session is the turn itself, so it stands in no conversation."""
    audience, proposal = proposed
    message = MessageId(uuid5(turn, "message"))
    event = TurnFinalized(
        turn_id=turn,
        session_id=SessionId(turn),
        status=TurnStatus.COMPLETED,
        messages=(MessageHead(message_id=message, role=Role.ASSISTANT, origin=Origin.ASSISTANT),),
        audience=audience,
        rests_on=proposal.messages,
    )
    body = ProposalBody(
        kind=proposal.kind,
        key=proposal.key,
        value=proposal.value,
        scope="personal",
        importance=proposal.importance,
        rests_on=proposal.messages,
    )
    parts = (
        Part(message_part(message), MessageBody(content=proposal.content), key),
        Part(proposal_part(message), body, key),
    )
    stream = turns_stream(scope.subject_id)
    return Command(finalized_command(turn), scope, stream, None, ACTOR, (NewEvent(event, at, parts),))
