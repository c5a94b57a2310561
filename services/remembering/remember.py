"""Considering a turn: extract, judge, append every verdict and `turn_considered` at once (R12, R13)."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from events.envelope import Command, NewEvent, Part, StoredEvent, considered_command, memory_stream
from events.errors import ConcurrencyError, ErasedError
from events.keyring import Keyring
from events.log import EventLog, fenced, read_at, read_command
from events.model import (
    MEMORY_PART,
    MemoryBody,
    MemoryId,
    Position,
    Scope,
    SessionId,
    Turn,
    TurnConsidered,
    TurnFinalized,
    TurnId,
)
from events.postgres import Database
from events.vault import Vault
from projections.changes import LIVING
from projections.choices import open_choices
from projections.embedding import Embedder
from projections.facts import count_living
from projections.index import PART as INDEX
from projections.memories import open_memories, open_vectors
from services.access.keys import Owners
from services.describing.matcher import Matcher
from services.extraction.extractor import Extracted, Extractor
from services.extraction.facts import is_of_system, stated
from services.governance.judge import GATES, Gate, Living, View
from services.governance.policy import Policy
from services.remembering.audiences import audiences_of, consented
from services.remembering.closing import open_proposals
from services.remembering.decide import Decision, Held, aftermath_of, counts_of, decide, events_of
from services.remembering.described import described
from services.remembering.indexing import index_of, tag_of
from services.remembering.likeness import Vectors, comparable, measured
from services.remembering.opening import open_turn
from services.remembering.policies import announce
from services.remembering.proposals import system_of
from services.remembering.state import forgotten_since, snapshot
from services.remembering.wishes import events_of_wishes, settle_wishes

_TRIES = 8
_ACTOR = "worker:remember"


@dataclass(frozen=True, slots=True)
class Considered:
    """How a turn ended: counts by verdict; whose it was, as far as its session reaches; and the session."""

    counts: dict[str, int]
    scope: Scope
    session_id: SessionId


class Rememberer:
    """Turns finished turns into memories, each turn exactly once.

    Args:
        vault: with the right to lease keys.
        events: the write path.
        projector: a pool that may read the sealed log of every tenant.
        reader: a pool under `cenotaph_reader`.
        embedder: makes the vectors.
        extractor: reads the turns.
        policy: thresholds and classes of the gates.
        gates: the gates of the judge.
        owners: says which business system owns which semantic key; without it every key is the person's.
    """

    def __init__(
        self,
        vault: Vault,
        events: EventLog,
        *,
        projector: Database,
        reader: Database,
        embedder: Embedder,
        extractor: Extractor,
        policy: Policy,
        gates: Sequence[Gate] = GATES,
        owners: Owners | None = None,
    ) -> None:
        self._vault = vault
        self._events = events
        self._projector = projector
        self._reader = reader
        self._embedder = embedder
        self._extractor = extractor
        self._policy = policy
        self._gates = gates
        self._owners = owners
        self._announced = False

    async def consider(self, position: Position) -> Considered | None:
        """Consider the turn at a position; None where there is none, it was considered before, or all is forgotten.

        Raises:
            ConcurrencyError: other writers of the same person kept winning; deliver the job again.
            UnavailableError: a store does not answer; deliver the job again.
        """
        async with self._projector.connection() as connection:
            stored = await read_at(connection, position)
        if stored is None or not isinstance(event := stored.event, TurnFinalized):
            return None
        if not self._announced:
            await announce(self._events, self._projector, self._policy, _ACTOR)
            self._announced = True
        try:
            return await self._consider(stored, event)
        except ErasedError:
            return None

    async def _consider(self, stored: StoredEvent, event: TurnFinalized) -> Considered | None:
        keyring = await self._vault.keyring(stored.scope)
        turn: Turn | None = None
        vectors = Vectors(self._embedder)
        for attempt in range(_TRIES):
            before, turn = turn, await self._open(keyring, stored, event)
            if turn is None:
                return None
            if (
                turn != before or event.task is not None or event.rests_on
            ):  # who loses a race does not ask again what was said
                said, extracted = await self._read(keyring, stored, event, turn)
            proposed = await self._propose(keyring, stored, said, extracted, vectors)
            if proposed is None:
                continue
            command, decisions = proposed
            try:
                answer = await self._events.append(command)
            except ConcurrencyError:
                if attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(0.005 * 2**attempt)
            else:
                scope = stored.scope.within(event.audience)
                considered = Considered(counts_of(decisions), scope, event.session_id)
                return considered if answer.outcome == "appended" else None
        return None

    async def give_up(self, position: Position) -> None:
        """End a turn that no try could consider: nothing of it is written, and its one `turn_considered` says so."""
        async with self._projector.connection() as connection:
            stored = await read_at(connection, position)
        if stored is not None and isinstance(event := stored.event, TurnFinalized):
            considered = TurnConsidered(
                turn_id=event.turn_id,
                counts={"failed": 1},
                extractor=self._extractor.name,
                policy_digest=self._policy.digest,
            )
            command = Command(
                considered_command(event.turn_id),
                stored.scope,
                memory_stream(stored.scope.subject_id),
                None,
                _ACTOR,
                (NewEvent(considered, stored.said_at),),
            )
            with suppress(ErasedError):
                await self._events.append(command)

    async def _open(self, keyring: Keyring, stored: StoredEvent, event: TurnFinalized) -> Turn | None:
        """Open the turn as it can be read now; None where it was considered before."""
        async with self._reader.transaction(stored.scope) as connection:
            if await read_command(connection, considered_command(event.turn_id)):
                return None
            return await open_turn(connection, keyring, stored, event)

    async def _read(
        self, keyring: Keyring, stored: StoredEvent, event: TurnFinalized, turn: Turn
    ) -> tuple[Turn, Extracted]:
        """Read what a turn says; what a system, a task's end or upkeep states is read as it is."""
        if is_of_system(turn):
            return turn, stated(turn, system_of(stored.actor))
        if event.task is None and not event.rests_on:
            return turn, await self._extractor.extract(stored.scope.tenant_id, turn)
        async with self._reader.transaction(stored.scope) as connection:
            return await open_proposals(connection, keyring, stored, turn)

    async def _propose(
        self, keyring: Keyring, stored: StoredEvent, turn: Turn, extracted: Extracted, vectors: Vectors
    ) -> tuple[Command, list[Decision]] | None:
        """Decide about the turn against the state of this moment; None where some of it was forgotten meanwhile."""
        extraction = extracted.extraction
        candidates = await audiences_of(
            keyring, stored, (*extraction.candidates, *extraction.remarks), self._policy.profile
        )
        tags = {tag for candidate in candidates if (tag := tag_of(keyring, candidate)) is not None}
        async with self._reader.transaction(stored.scope) as connection:
            state = await snapshot(connection, keyring, tags)
            # behind the version: what is chosen or forgotten later makes the append lose
            choices = await open_choices(connection, keyring)
            candidates = consented(candidates, choices.consents)
            facts = [fact for fact in state.facts.values() if fact.status in LIVING]
            bodies = await open_memories(connection, keyring, facts)
            pairs = comparable(candidates, facts, bodies, self._policy.succession)
            near = await open_vectors(connection, keyring, [fact for _, fact in pairs], self._embedder.model_id)
            counts = await count_living(connection, stored.scope)
            forgotten = await forgotten_since(connection, keyring, stored.said_at, candidates)
            if await fenced(connection, stored.scope, [message.message_id for message in turn.messages]):
                return None
        living, held = [], []
        for fact in facts:
            body = bodies.get(fact.event_id)
            if not isinstance(body, MemoryBody):
                continue
            if fact.status == "held":
                held.append(Held(fact.memory_id, body, fact.audience))
                continue
            living.append(
                Living(
                    memory_id=fact.memory_id,
                    version=fact.version,
                    claim=body,
                    confidence=fact.confidence,
                    importance=fact.importance,
                    recorded_at=fact.recorded_at,
                    occurred_at=fact.verified_at,
                    turn_id=fact.turn_id,
                    in_conflict=fact.status == "in_conflict",
                    audience=fact.audience,
                )
            )
        wishes = settle_wishes(extraction.standing, choices, stored.said_at)
        matcher = Matcher(self._embedder, self._policy.about)
        view = View(
            turn=turn,
            suppressions=extraction.suppressions,
            living=tuple(living),
            described=await described(turn, tuple(candidates), wishes.standing, matcher, vectors),
            alike=await measured(pairs, near, vectors),
            consents=choices.consents.given,
            withdrawn=choices.consents.withdrawn,
            purposes=dict(choices.consents.purposes),
            counts=counts,
            policy=self._policy,
            forgotten=forgotten,
            owners=dict(await self._owners.owners(stored.scope.tenant_id)) if self._owners is not None else {},
        )
        decisions = decide(candidates, view, held, lambda: MemoryId(uuid4()), self._gates)
        considered = TurnConsidered(
            turn_id=turn.turn_id,
            counts=counts_of(decisions),
            extractor=extracted.extractor,
            policy_digest=self._policy.digest,
            fallback=extracted.fallback,
            notes=extracted.notes,
        )
        events = (
            *await events_of_wishes(wishes, keyring, stored.said_at),
            *await self._events_of(keyring, stored, turn.turn_id, decisions, vectors),
            NewEvent(considered, stored.said_at),
        )
        stream, command_id = memory_stream(stored.scope.subject_id), considered_command(turn.turn_id)
        return Command(command_id, stored.scope, stream, state.version, _ACTOR, events), decisions

    async def _events_of(
        self, keyring: Keyring, stored: StoredEvent, turn: TurnId, decisions: Sequence[Decision], vectors: Vectors
    ) -> list[NewEvent]:
        written = [decision.body for decision in decisions if decision.written and decision.body is not None]
        made = iter(await vectors.of([body.content for body in written]))
        keys = iter(await keyring.lease(sum(decision.body is not None for decision in decisions)))
        hold = timedelta(days=self._policy.hold_days)
        events: list[NewEvent] = []
        for decision in decisions:
            *before, last = events_of(decision, turn, hold, stored)
            events += [NewEvent(each, stored.said_at) for each in before]
            parts: tuple[Part, ...] = ()
            if (body := decision.body) is not None:
                key = next(keys)
                parts = (Part(MEMORY_PART, body, key),)
                if decision.written:
                    parts += (Part(INDEX, index_of(keyring, body, next(made), self._embedder.model_id), key),)
            events.append(NewEvent(last, stored.said_at, parts))
            events += [NewEvent(each, stored.said_at) for each in aftermath_of(decision)]
        return events
