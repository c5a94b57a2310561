"""What is kept of a person, as the person sees it: a list, one memory with its versions, what became of a turn."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from events.envelope import StoredEvent, considered_command, finalized_command
from events.errors import BadInputError
from events.keyring import Keyring
from events.log import expired, fenced, read_command
from events.model import (
    Accepted,
    CandidateProposed,
    EventId,
    MemoryBody,
    MemoryId,
    NotWritten,
    Reinforced,
    Scope,
    TurnConsidered,
    TurnId,
)
from events.postgres import Connection, Database
from events.vault import Vault
from projections.changes import CURRENT, LIVING, Fact, fold, touched_by, within
from projections.facts import newer_events, read_memories, read_page
from projections.memories import open_memories
from services.access.permission import Permission, permission_of
from services.access.rights import TokenRole
from services.governance.lease import freshness_of
from services.recall.reads import Given, record
from services.wire.cursor import FOREIGN, cursor_of, read_cursor
from services.wire.memories import MemoryDetail, MemoryPage, MemoryStatus, MemoryView, Source
from services.wire.names import message_of
from services.wire.traces import ReadPath
from services.wire.turns import TurnOutcome, Verdict

_STATUS = {
    "current": MemoryStatus.ACTIVE,
    "in_conflict": MemoryStatus.IN_CONFLICT,
    "held": MemoryStatus.HELD,
    "superseded": MemoryStatus.SUPERSEDED,
    "merged": MemoryStatus.MERGED,
    "expired": MemoryStatus.EXPIRED,
    "forgotten": MemoryStatus.FORGOTTEN,
}
Gone = Literal["forgotten", "expired"]
_STONES = frozenset({"forgotten", "expired"})


class Catalogue:
    """Lists and shows memories of one person.

    Args:
        reader: a pool under `cenotaph_reader`.
        vault: with the right to open keys.
    """

    def __init__(self, reader: Database, vault: Vault) -> None:
        self._reader = reader
        self._vault = vault

    async def page(
        self,
        scope: Scope,
        status: MemoryStatus | None,
        limit: int,
        cursor: str | None,
        *,
        reader: TokenRole,
    ) -> MemoryPage:
        """List memory versions of a status, newest first; without one what lives: active and held.

        Raises:
            BadInputError: the cursor is not one this method gave out.
        """
        before = None if cursor is None else _before(cursor)
        wanted = LIVING if status is None else {name for name, each in _STATUS.items() if each is status}
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            newer, _ = await newer_events(connection, scope)
            rows = await read_page(connection, scope, wanted, limit + 1, before)
            state = within(fold(rows | await read_memories(connection, scope, touched_by(newer)), newer), scope)
            facts = sorted(
                (
                    fact
                    for fact in state.values()
                    if fact.status in wanted and (before is None or _place(fact) < before)
                ),
                key=_place,
                reverse=True,
            )
            views = await recorded_views(connection, keyring, facts[:limit], reader, "list")
        more = len(facts) > limit
        return MemoryPage(memories=tuple(views), next_cursor=_cursor(facts[limit - 1]) if more else None)

    async def show(
        self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole, recorded: bool = True
    ) -> MemoryDetail | None:
        """Show one memory: its newest version, and all versions; unrecorded only where nothing of it is given away."""
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            newer, _ = await newer_events(connection, scope)
            state = within(fold(await read_memories(connection, scope, {memory_id}), newer), scope)
            facts = sorted(
                (fact for fact in state.values() if fact.memory_id == memory_id), key=lambda fact: fact.version
            )
            if not facts:
                return None
            views = (
                await recorded_views(connection, keyring, facts, reader, "memory")
                if recorded
                else await memory_views(connection, keyring, facts, reader)
            )
        return MemoryDetail(**dict(views[-1]), versions=tuple(views))

    async def views(
        self, scope: Scope, facts: Sequence[Fact], path: ReadPath, *, reader: TokenRole
    ) -> list[MemoryView]:
        """Open some memory versions as far as a reader on this path may see them, in the order given."""
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            return await recorded_views(connection, keyring, facts, reader, path)

    async def outcome(self, scope: Scope, turn_id: str) -> TurnOutcome | None:
        """Say what became of a turn, by its outside id."""
        keyring = await self._vault.keyring(scope)
        turn = await keyring.find(("turn", turn_id))
        if turn is None:
            return None
        async with self._reader.transaction(scope) as connection:
            if not await read_command(connection, finalized_command(TurnId(turn))):
                return None
            events = await read_command(connection, considered_command(TurnId(turn)))
        if not events:
            return TurnOutcome(turn_id=turn_id, state="pending")
        counts = next(each.event.counts for each in events if isinstance(each.event, TurnConsidered))
        return TurnOutcome(turn_id=turn_id, state="considered", verdicts=_verdicts(events), counts=counts)


async def memory_views(
    connection: Connection, keyring: Keyring, facts: Sequence[Fact], reader: TokenRole
) -> list[MemoryView]:
    """Open memory versions as far as a reader may see them; what is forgotten, expired or withheld is a stone."""
    opened = await open_memories(connection, keyring, [fact for fact in facts if fact.status not in _STONES])
    return await views_of(connection, keyring, facts, opened, reader)


async def recorded_views(
    connection: Connection, keyring: Keyring, facts: Sequence[Fact], reader: TokenRole, path: ReadPath
) -> list[MemoryView]:
    """Open memory versions like `memory_views`, and record the read; what was fenced meanwhile is a stone too."""
    views = await memory_views(connection, keyring, facts, reader)
    keys = [(view.memory_id, view.version or 0) for view in views if view.content is not None]
    _, stones = await record(connection, keyring.scope, Given(path, reader.value, keys))
    return await memory_views(connection, keyring, facts, reader) if stones else views


async def views_of(
    connection: Connection,
    keyring: Keyring,
    facts: Sequence[Fact],
    opened: Mapping[EventId, object],
    reader: TokenRole,
) -> list[MemoryView]:
    """Show memory versions whose bodies are opened already; what is no body, or is withheld, is a stone."""
    permission = await permission_of(connection, keyring.scope, reader)
    bodies = {event_id: body for event_id, body in opened.items() if isinstance(body, MemoryBody)}
    cited = {evidence.message_id for body in bodies.values() for evidence in body.evidence}
    stones: dict[UUID, Gone] = dict.fromkeys(await fenced(connection, keyring.scope, cited), "forgotten")
    stones |= dict.fromkeys(await expired(connection, keyring.scope, stones), "expired")
    places = {each for fact in facts for _, each in fact.audience if each is not None}
    names = await keyring.outside({*cited, *places, *(fact.turn_id for fact in facts)})
    return [_view(fact, bodies.get(fact.event_id), names, stones, permission) for fact in facts]


def _view(
    fact: Fact,
    body: MemoryBody | None,
    names: Mapping[UUID, str],
    stones: Mapping[UUID, Gone],
    permission: Permission,
) -> MemoryView:
    held = fact.status == "held" or (fact.status == "expired" and fact.gate is not None)
    stone = MemoryView(
        memory_id=fact.memory_id,
        version=None if held else fact.version,
        status=_STATUS[fact.status] if body is not None or fact.status in _STONES else MemoryStatus.FORGOTTEN,
        kind=fact.kind,
        confidence=fact.confidence / 1000,
        importance=fact.importance / 1000,
        recorded_at=fact.recorded_at,
        withheld=None if body is None else permission.withheld(fact, body),
    )
    if body is None or not permission.opens(stone.withheld):
        return stone
    sources = tuple(
        Source(
            turn_id=names.get(fact.turn_id, ""),
            message_id=message_of(names.get(evidence.message_id, "")),
            start=evidence.start,
            end=evidence.end,
            state=stones.get(evidence.message_id, "readable"),
        )
        for evidence in body.evidence
    )
    return stone.model_copy(
        update={
            "key": body.key,
            "value": body.value,
            "content": body.content,
            "scope": body.scope,
            "positive": body.positive,
            "assertion": body.assertion,
            "occurred_at": fact.occurred_at,
            "valid_from": body.valid_from,
            "valid_until": body.valid_until,
            "sources": sources,
            "reason": fact.gate if held else None,
            "sensitivity": body.sensitivity,
            "freshness": freshness_of(fact, body, datetime.now(UTC)).value if fact.status in CURRENT else None,
            "visibility": "private" if fact.project is None else "project",
            "project": names.get(fact.project) if fact.project else None,
            "task_id": names.get(fact.task) if fact.task else None,
            "assistant": names.get(fact.assistant) if fact.assistant else None,
            "purpose": names.get(fact.purpose) if fact.purpose else None,
        }
    )


def _verdicts(events: Sequence[StoredEvent]) -> tuple[Verdict, ...]:
    kinds = {
        event.candidate_id: event.kind for stored in events if isinstance(event := stored.event, CandidateProposed)
    }
    verdicts = []
    for stored in events:
        event = stored.event
        if isinstance(event, Accepted):
            verdicts.append(
                Verdict(
                    memory_id=event.memory_id,
                    outcome="accepted",
                    gate=None,
                    reason=None,
                    kind=event.kind,
                    version=event.version,
                )
            )
        elif isinstance(event, Reinforced):
            verdicts.append(
                Verdict(
                    memory_id=event.memory_id,
                    outcome="reinforced",
                    gate="duplicate",
                    reason=None,
                    kind=kinds[event.candidate_id],
                    version=event.version,
                )
            )
        elif isinstance(event, NotWritten):
            verdicts.append(
                Verdict(
                    memory_id=event.candidate_id,
                    outcome=event.outcome,
                    gate=event.gate,
                    reason=event.reason,
                    kind=event.kind,
                )
            )
    return tuple(verdicts)


Place = tuple[datetime, UUID, int]


def _place(fact: Fact) -> Place:
    return fact.recorded_at, fact.memory_id, fact.version


def _cursor(fact: Fact) -> str:
    return cursor_of(fact.recorded_at, fact.memory_id, fact.version)


def _before(cursor: str) -> Place:
    at, memory, version = read_cursor(cursor, datetime.fromisoformat, UUID, int)
    if at.tzinfo is None or not 0 < version < 2**31:
        raise BadInputError(FOREIGN)
    return at, memory, version
