"""A whole system on servers of its own, driven by hand: nothing is followed, considered or erased by itself.

Only the sealer runs, so that positions exist. A test says when each read model follows and when an erasure is tried,
and so can hold any of them back.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from uuid import UUID, uuid4

from events.envelope import StoredEvent, memory_stream
from events.log import read_events, read_sealed, read_stream
from events.model import EventId, MemoryId, Position, Scope, SubjectId, TenantId, TurnFinalized
from events.place import Folder
from events.postgres import Connection
from events.sealer import Sealer
from ops.composition import Composition
from ops.embedded import Embedded
from ops.settings import load_settings
from projections.follower import Follower, place_of
from projections.model import Projection
from projections.vector_probe import VectorProbe
from services.forgetting.finisher import Finisher, Stage
from services.forgetting.layers import Layer, Registry
from services.forgetting.receipt import Signer
from services.forgetting.second_place import Tombstones
from services.remembering.remember import Rememberer
from services.wire.facts import SystemFact
from services.wire.receipts import ReceiptView
from services.wire.turns import MessageIn, TurnAnswer, TurnIn, TurnOutcome
from workers.seal import seal

ACTOR = "agent"
WAIT_S = 0.5  # how long a layer that does not follow is waited for; five seconds in production
PREPARE_S = 60.0  # one second in production, which a busy machine may need for less
START = datetime(2026, 8, 1, 9, tzinfo=UTC)
OWNED = (
    *("log.body", "facts.memory", "facts.subject", "keywords.entry", "sessions.turn", "sessions.message"),
    *("sessions.summary", "sessions.summary_item", "tasks.task", "tasks.item", "ops.read", "ops.dead_letter"),
)
_ELSEWHERE = "select count(*) from {table} where (tenant_id, subject_id) <> ($1, $2)"
MODELS = ("facts", "keywords", "sessions", "tasks", "vectors")


@dataclass
class Plant:
    """The parts a test drives."""

    embedded: Embedded
    composition: Composition
    tenant: TenantId
    _turns: int = 0
    followed: dict[str, Projection] = field(default_factory=dict)

    async def person(self) -> Scope:
        """Make a fresh person."""
        subject = await self.composition.vault("keeper").subject(self.tenant, _id())
        return Scope(tenant_id=self.tenant, subject_id=SubjectId(UUID(str(subject))))

    # ── turn → memory ─────────────────────────────────────────────────────────────────────────────────────────────────

    def turn(
        self, *said: str, contexts: Sequence[UUID] = (), turn_id: str | None = None, at: datetime | None = None
    ) -> TurnIn:
        """Write a turn: the user's words, then the assistant's if there are any; later than the one before it."""
        self._turns += 1
        return TurnIn(
            turn_id=turn_id or f"t{self._turns}",
            session_id="s1",
            occurred_at=at or START + timedelta(minutes=self._turns),
            messages=tuple(
                MessageIn.model_validate(
                    {"message_id": f"m{number}", "role": ("user", "assistant")[number % 2], "content": text}
                )
                for number, text in enumerate(said)
            ),
            contexts=tuple(contexts),
        )

    async def store(self, scope: Scope, turn: TurnIn) -> TurnAnswer:
        """Hand a turn over."""
        return await self.composition.ingest.finalize(scope, turn, ACTOR)

    async def placed(self, scope: Scope, turn: TurnIn) -> Position:
        """Hand a turn over; return its position, also where the sealer is busy."""
        position = (await self.store(scope, turn)).position
        if position is None:
            await self.sealed()
            position = (await self.store(scope, turn)).position  # known by now, so it tells its position
        assert position is not None
        return Position(position)

    async def stated(self, scope: Scope, system: str, fact: SystemFact) -> Position | None:
        """Let a business system state a fact; return its position, None where the system does not own the key."""
        answer = await self.composition.backend.propose(scope, system, fact)
        if answer and answer.position is None:
            await self.sealed()
            answer = await self.composition.backend.propose(scope, system, fact)
        if answer is None:
            return None
        assert answer.position is not None
        return Position(answer.position)

    async def say(
        self, scope: Scope, *said: str, contexts: Sequence[UUID] = (), at: datetime | None = None
    ) -> TurnOutcome:
        """Hand a turn over, consider it, and let every read model follow."""
        turn = self.turn(*said, contexts=contexts, at=at)
        await self.rememberer.consider(await self.placed(scope, turn))
        await self.follow()
        outcome = await self.composition.backend.catalogue.outcome(scope, turn.turn_id)
        assert outcome is not None
        return outcome

    async def remember(self, scope: Scope, *said: str) -> MemoryId:
        """Say something that becomes exactly one memory; return its id."""
        (verdict,) = (await self.say(scope, *said)).verdicts
        assert verdict.outcome == "accepted", verdict
        return verdict.memory_id

    @cached_property
    def rememberer(self) -> Rememberer:
        """What considers turns."""
        return self.composition.rememberer

    async def follow(self, *names: str) -> None:
        """Let read models follow to the end of the log: all, or those named."""
        await self.sealed()
        models = self.composition.projections() | self.followed
        for name in names or MODELS:
            await Follower(models[name], self.composition.log("projector")).catch_up()

    async def sealed(self) -> None:
        """Wait until everything that was appended has a position."""
        async with self.owner() as connection:
            unsealed = "select exists (select from log.unsealed)"
            while await connection.fetchval(unsealed):  # noqa: ASYNC110 - the sealer rings in the database
                await asyncio.sleep(0.005)

    async def rebuild(self, name: str) -> None:
        """Build a read model anew from the log."""
        await Follower(self.composition.projections()[name], self.composition.log(None)).rebuild()

    # ── forget → receipt ──────────────────────────────────────────────────────────────────────────────────────────────

    async def forget(self, scope: Scope, memory: MemoryId) -> EventId:
        """Append the tombstone."""
        tombstone = await self.composition.backend.forgetter.forget(scope, memory, ACTOR)
        assert tombstone is not None
        await self.sealed()
        return tombstone

    async def tombstone(self, scope: Scope, receipt: EventId) -> StoredEvent:
        """Read a tombstone back."""
        async with self.owner() as connection:
            found = (await read_events(connection, [receipt]))[receipt]
        assert found.scope == scope
        return found

    async def finish(self, scope: Scope, receipt: EventId, *, registry: Registry | None = None) -> ReceiptView:
        """Try an erasure once; return the receipt as its person sees it."""
        tombstone = await self.tombstone(scope, receipt)
        assert tombstone.position is not None
        stage = await self.finisher(registry).finish(tombstone.position)
        assert isinstance(stage, Stage)
        shown = await self.composition.backend.receipt(scope, receipt)
        assert shown is not None
        assert shown.decision == stage.decision
        return shown

    async def until(
        self, scope: Scope, receipt: EventId, wanted: Callable[[ReceiptView], bool] | None = None
    ) -> ReceiptView:
        """Try an erasure until its receipt is as wanted, signed by default: on a busy machine one try may not do."""
        async with asyncio.timeout(90):
            while True:
                shown = await self.finish(scope, receipt)
                if shown.propagated_at is not None if wanted is None else wanted(shown):
                    return shown

    def finisher(self, registry: Registry | None = None) -> Finisher:
        """Make a finisher that does not wait long."""
        return Finisher(
            self.composition.log("eraser"),
            self.composition.vault("eraser"),
            registry or self.registry(),
            Tombstones(Folder(self.composition.settings.second_place)),
            Signer(self.composition.settings.keys),
            whole=replace(self.composition.whole_registry, wait_s=WAIT_S),
            schedule=self.composition.schedule,
            prepare_s=PREPARE_S,
        )

    def registry(self, *layers: Layer) -> Registry:
        """Return the real registry, with some layers replaced by name."""
        other = {layer.name: layer for layer in layers}
        real = self.composition.registry
        return replace(real, wait_s=WAIT_S, layers=tuple(other.get(layer.name, layer) for layer in real.layers))

    # ── trouble ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def kill(self, server: str) -> None:
        """Kill a server and wait until it is gone."""
        os.kill(self.embedded.processes()[server], signal.SIGKILL)
        while server not in self.embedded.dead():  # noqa: ASYNC110 - a process that dies rings no bell
            await asyncio.sleep(0.01)

    def another(self) -> Composition:
        """Build the parts once more, as another process would, impatient where the settings allow it."""
        settings = self.composition.settings.model_copy(update={"reclaim_idle_ms": 500, "sweep_after_s": 1})
        return Composition(settings, self.composition.endpoints)

    # ── looking ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def stream(self, scope: Scope) -> list[StoredEvent]:
        """Read a person's memory stream."""
        async with self.owner() as connection:
            return await read_stream(connection, scope, memory_stream(scope.subject_id))

    async def turns(self, scope: Scope) -> list[StoredEvent]:
        """Read the finished turns of a person off the sealed log."""
        async with self.owner() as connection:
            events = await read_sealed(connection, Position(-1), 100_000)
        return [each for each in events if each.scope == scope and isinstance(each.event, TurnFinalized)]

    async def counts(self, scope: Scope) -> dict[str, int]:
        """Count what lies in every layer of everybody but one person (R40)."""
        found: dict[str, int] = {}
        async with self.owner() as connection:
            for table in OWNED:
                query = _ELSEWHERE.format(table=table)
                found[table] = await connection.fetchval(query, scope.tenant_id, scope.subject_id)
            place = await place_of(connection, "vectors")
        async with self.vault() as connection:
            for table in ("person", "data_key", "alias"):
                query = _ELSEWHERE.format(table=f"vault.{table}")
                found[table] = await connection.fetchval(query, scope.tenant_id, scope.subject_id)
        probe = VectorProbe(self.composition.endpoints.milvus_uri, place)
        found["vectors"] = await probe.count() - await probe.count(scope.tenant_id, scope.subject_id)
        await probe.close()
        return found

    async def recalled(self, scope: Scope, query: str) -> dict[MemoryId, str]:
        """Ask as an agent would; return what came, by memory."""
        found = await self.composition.recall.recall(scope, query)
        return {each.fact.memory_id: each.body.content for each in found.recalled}

    @asynccontextmanager
    async def owner(self) -> AsyncIterator[Connection]:
        """Look at the log's cluster as its owner."""
        async with self.composition.log(None).connection() as connection:
            yield connection

    @asynccontextmanager
    async def vault(self) -> AsyncIterator[Connection]:
        """Look at the vault's cluster as its owner."""
        async with self.composition._pool(self.composition.endpoints.vault_url, None).connection() as connection:
            yield connection


@asynccontextmanager
async def planted(data: Path) -> AsyncIterator[Plant]:
    """Run the four servers and the sealer on a folder of their own."""
    settings = load_settings(data=data)
    with Embedded(settings) as embedded:
        composition = Composition(settings, embedded.endpoints)
        await composition.migrate()
        sealing = asyncio.create_task(seal(Sealer(composition.log("sealer"))))
        try:
            yield Plant(embedded, composition, await composition.vault("keeper").create_tenant())
        finally:
            sealing.cancel()
            with suppress(asyncio.CancelledError):
                await sealing
            await composition.close()


def _id() -> str:
    return f"person-{uuid4()}"
