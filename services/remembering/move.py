"""Moving a memory: the person says which readers it is for from now on (R31), and nobody else does."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from events.envelope import Command, NewEvent, Part, StoredEvent, memory_stream
from events.errors import BadInputError, ConcurrencyError
from events.keyring import Keyring
from events.log import EventLog, read_stream
from events.model import (
    MEMORY_PART,
    Accepted,
    Audience,
    CommandId,
    MemoryBody,
    MemoryId,
    Scope,
    Superseded,
)
from events.postgres import Database
from events.vault import Vault
from projections.changes import LIVING, Fact, fold
from projections.embedding import Embedder
from projections.index import PART as INDEX
from projections.memories import open_memories
from services.governance.audience import rescoped
from services.governance.gates.conflict import contradicts
from services.remembering.indexing import index_of
from services.remembering.settle import Opened, says_the_same

_TRIES: Final = 8


@dataclass(frozen=True)
class _Moment:
    """A person's memory stream and what lives by it, opened; a move holds as long as the stream has this version."""

    stream: list[StoredEvent]
    living: list[Opened]


class Mover:
    """Moves memories of one person from some readers to others.

    A move is the next version of the memory, with the same words under a key of its own: so every wall that goes by
    the envelope holds for it. What it said before is the person's alone from then on.

    Args:
        vault: with the right to lease keys.
        events: the write path.
        reader: a pool under `cenotaph_reader`.
        embedder: makes the vector of the version.
    """

    def __init__(self, vault: Vault, events: EventLog, reader: Database, embedder: Embedder) -> None:
        self._vault = vault
        self._events = events
        self._reader = reader
        self._embedder = embedder

    async def move(self, scope: Scope, memory_id: MemoryId, audience: Audience, actor: str) -> int | None:
        """Move a memory; return the version that is for these readers, None where there is no such memory.

        To move it where it is changes nothing.

        Raises:
            BadInputError: it waits, is in conflict, is set aside, is a system's, or is not for these readers.
        """
        keyring = await self._vault.keyring(scope.person)
        for attempt in range(_TRIES):
            moment = await self._moment(keyring)
            own = next((each for each in moment.living if each.fact.memory_id == memory_id), None)
            if own is None:
                return None
            if own.fact.audience == audience:
                return own.fact.version
            body = await self._there(keyring, own, audience)
            require_movable(own.fact, body, moment.living, audience)
            command = await self._command(keyring, moment.stream, Opened(own.fact, body), audience, actor)
            try:
                await self._events.append(command)
            except ConcurrencyError:
                if attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(0.005 * 2**attempt)
            else:
                return own.fact.version + 1
        return None

    async def _moment(self, keyring: Keyring) -> _Moment:
        async with self._reader.transaction(keyring.scope) as connection:
            stream = await read_stream(connection, keyring.scope, memory_stream(keyring.scope.subject_id))
            facts = [fact for fact in fold({}, stream).values() if fact.status in LIVING]
            bodies = await open_memories(connection, keyring, facts)
        living = [Opened(fact, body) for fact in facts if isinstance(body := bodies.get(fact.event_id), MemoryBody)]
        return _Moment(stream, living)

    @staticmethod
    async def _there(keyring: Keyring, own: Opened, audience: Audience) -> MemoryBody:
        """Say what the memory says, in the scope that it has for these readers."""
        before, after = own.fact.project, audience.project
        names = await keyring.outside({each for each in (before, after) if each is not None})
        return rescoped(own.body, names.get(before) if before else None, names.get(after) if after else None)

    async def _command(
        self, keyring: Keyring, stream: list[StoredEvent], own: Opened, audience: Audience, actor: str
    ) -> Command:
        fact, body = own.fact, own.body
        (key,) = await keyring.lease(1)
        (vector,) = await self._embedder.embed_passages([body.content])
        index = index_of(keyring, body, vector, self._embedder.model_id)
        accepted = Accepted(
            candidate_id=_candidate(stream, fact.memory_id, fact.version),
            memory_id=fact.memory_id,
            version=fact.version + 1,
            turn_id=fact.turn_id,
            kind=fact.kind,
            confidence=fact.confidence,
            importance=fact.importance,
            cites=fact.cites,
            explicit=fact.asked,
            audience=audience,
            moved=True,
        )
        events = (
            NewEvent(
                Superseded(memory_id=fact.memory_id, version=fact.version, by_version=fact.version + 1),
                datetime.now(UTC),
            ),
            # said when it was said: a move is no newer statement (R20)
            NewEvent(accepted, fact.occurred_at, (Part(MEMORY_PART, body, key), Part(INDEX, index, key))),
        )
        memories = memory_stream(keyring.scope.subject_id)
        return Command(CommandId(uuid4()), keyring.scope, memories, stream[-1].version, actor, events)


def require_movable(fact: Fact, body: MemoryBody, living: Iterable[Opened], audience: Audience) -> None:
    """See that a memory may be for these readers; what is refused says what to do first.

    Args:
        fact: the version that is current.
        body: what it says, in the scope that it will have.
        living: everything that lives at this moment.
        audience: the readers.

    Raises:
        BadInputError: it may not.
    """
    if fact.status != "current":
        raise BadInputError(f"{fact.memory_id} waits or is in conflict: settle that first, see /v1/inbox")
    if fact.suspended:
        raise BadInputError(f"{fact.memory_id} is set aside: resume it first")
    if body.said_by is not None:
        raise BadInputError(f"a business system states {fact.memory_id}; it stays for whom the system states it")
    if audience.project is not None and body.sensitivity is not None:
        raise BadInputError(f"{fact.memory_id} is of a sensitive class ({body.sensitivity}), which enters no project")
    for other in living:
        if other.fact.memory_id == fact.memory_id or other.fact.audience != audience:
            continue
        if contradicts(body, other.body) or says_the_same(body, other.body):
            raise BadInputError(f"{other.fact.memory_id} says it, or otherwise, for these readers: forget one first")


def _candidate(stream: Iterable[StoredEvent], memory: MemoryId, version: int) -> MemoryId:
    """Name the candidate that a version came of: a move is no candidate of its own."""
    return next(
        event.candidate_id
        for stored in stream
        if isinstance(event := stored.event, Accepted) and (event.memory_id, event.version) == (memory, version)
    )
