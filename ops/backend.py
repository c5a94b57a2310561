"""Everything behind the door, as one object."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from typing import Literal
from uuid import UUID

from events.checkpointer import Coverage, coverage
from events.errors import BadInputError, BehindError, CenotaphError, PreviewChangedError
from events.model import EventId, MemoryId, Position, Scope, SubjectId, TenantId
from events.postgres import Database
from events.vault import Vault
from projections.follower import position_of
from services.access.keys import KeyStore, StoredKey, holder_of
from services.access.rights import TokenRole
from services.forgetting.forget import Forgetter
from services.forgetting.previews import Preview, Previews, whole_digest
from services.forgetting.receipts import Receipts
from services.forgetting.selection import Wanted, wanted_of
from services.forgetting.suspend import Suspender
from services.forgetting.where import Locations
from services.recall.bounds import bound, place_of
from services.recall.catalogue import Catalogue
from services.recall.contexts import Contexts
from services.recall.explain import Explainer
from services.recall.export import Exporter
from services.recall.profile import Profiles
from services.recall.reads import Traces
from services.recall.register import Register
from services.remembering.choose import Chooser
from services.remembering.inbox import Inbox
from services.remembering.ingest import Ingest
from services.remembering.move import Mover
from services.remembering.proposals import Proposals
from services.replay.standing import Standing, standings
from services.tasks.tasks import Tasks
from services.wire.choices import (
    ConsentPage,
    ConsentView,
    ForgetPreview,
    MeantView,
    SuppressionPage,
    SuppressionView,
)
from services.wire.explain import Explanation
from services.wire.exports import ExportDetail, ExportPage, Purpose
from services.wire.facts import FactAnswer, SystemFact, fact_name
from services.wire.inbox import InboxEntry, InboxPage, SettledView
from services.wire.memories import (
    AudienceView,
    MemoryDetail,
    MemoryPage,
    MemoryStatus,
    MoveRequest,
    SuspensionView,
)
from services.wire.names import Bounds
from services.wire.profile import ProfileView
from services.wire.recall import ContextAnswer, ContextRequest, SearchAnswer, SearchRequest
from services.wire.receipts import Decision, Deletions, ReceiptPage, ReceiptView, What, WholePreview
from services.wire.tasks import TaskChange, TaskPage, TaskStart, TaskView
from services.wire.traces import TraceView
from services.wire.turns import TurnAnswer, TurnIn, TurnOutcome
from services.wire.where import PlaceView, WhereView

_POLL_S = 0.02
_REACH_S = 5.0
_ERASED_WITHIN_S = 2.0
_SIGN_S = 2.0
_SHOWN = 100
_ACTOR = "agent"
_PERSON = "person"
_WORKFLOW = "workflow"


@dataclass(frozen=True)
class System:
    """The services a door needs; implements `services.api.backend.Backend`."""

    ingest: Ingest
    proposals: Proposals
    contexts: Contexts
    catalogue: Catalogue
    profiles: Profiles
    forgetter: Forgetter
    previews: Previews
    suspender: Suspender
    mover: Mover
    chooser: Chooser
    waiting: Inbox
    explainer: Explainer
    locations: Locations
    traces: Traces
    exporter: Exporter
    register: Register
    receipt_book: Receipts
    task_states: Tasks
    vault: Vault
    keys: KeyStore
    reader: Database
    stores: Mapping[str, Callable[[], Awaitable[None]]]

    async def finalize(self, scope: Scope, turn: TurnIn) -> TurnAnswer:
        """Store a finished turn, or find that it is known or forgotten."""
        return await self.ingest.finalize(scope, turn, _ACTOR)

    async def turn_outcome(self, scope: Scope, turn_id: str) -> TurnOutcome | None:
        """Say what became of a turn."""
        return await self.catalogue.outcome(scope, turn_id)

    async def propose(self, scope: Scope, system: str, fact: SystemFact) -> FactAnswer | None:
        """Store what a business system states; None where it does not own the key."""
        return await self.proposals.propose(scope, system, fact)

    async def fact_outcome(self, scope: Scope, system: str, fact_id: str) -> TurnOutcome | None:
        """Say what became of a fact."""
        outcome = await self.catalogue.outcome(scope, fact_name(system, fact_id))
        return outcome and outcome.model_copy(update={"turn_id": fact_id})

    async def context(self, scope: Scope, request: ContextRequest) -> ContextAnswer:
        """Compile context for an agent."""
        await self._reach(request.at_least)
        return await self.contexts.compile(scope, request)

    async def search(self, scope: Scope, request: SearchRequest) -> SearchAnswer:
        """Search the person's memories."""
        await self._reach(request.at_least)
        return await self.contexts.search(scope, request)

    async def memories(
        self,
        scope: Scope,
        status: MemoryStatus | None,
        limit: int,
        cursor: str | None,
        *,
        reader: TokenRole = TokenRole.AGENT,
    ) -> MemoryPage:
        """List memories, newest first."""
        return await self.catalogue.page(scope, status, limit, cursor, reader=reader)

    async def memory(
        self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole = TokenRole.AGENT
    ) -> MemoryDetail | None:
        """Show one memory with its versions."""
        return await self.catalogue.show(scope, memory_id, reader=reader)

    async def profile(self, scope: Scope, *, reader: TokenRole = TokenRole.AGENT) -> ProfileView:
        """Show the fields of the profile with their values."""
        return await self.profiles.show(scope, reader=reader)

    async def forget(self, scope: Scope, memory_id: MemoryId, digest: str | None = None) -> ReceiptView | None:
        """Fence a memory, then give the erasing worker a moment to finish before answering."""
        tombstone = await self.forgetter.forget_wanted(scope, Wanted("memory", memory_id), _ACTOR, digest)
        return None if tombstone is None else await self._receipt(scope, tombstone)

    async def preview(self, scope: Scope, description: str, *, reader: TokenRole = TokenRole.AGENT) -> ForgetPreview:
        """Show what a description means and what forgetting it would touch."""
        return await self._shown(scope, await self.previews.preview(scope, description), reader)

    async def preview_memory(
        self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole = TokenRole.AGENT
    ) -> ForgetPreview | None:
        """Show what would go with one memory."""
        preview = await self.previews.preview_wanted(scope, Wanted("memory", memory_id))
        return None if preview is None else await self._shown(scope, preview, reader)

    async def _shown(self, scope: Scope, preview: Preview, reader: TokenRole) -> ForgetPreview:
        shown = preview.meant[:_SHOWN]
        views = await self.catalogue.views(scope, [each.fact for each in shown], "preview", reader=reader)
        keyring = await self.vault.keyring(scope)
        names = await keyring.outside(preview.turns)
        return ForgetPreview(
            memories=tuple(
                MeantView(
                    **dict(view), score=None if each.score is None else round(each.score, 3), versions=each.versions
                )
                for each, view in zip(shown, views, strict=True)
            ),
            total=len(preview.meant),
            siblings=preview.siblings,
            turns=tuple(names[turn] for turn in preview.turns if turn in names),
            messages=len(preview.messages),
            digest=preview.digest,
            lifted=preview.lifted,
        )

    async def forget_described(self, scope: Scope, description: str, digest: str) -> ReceiptPage:
        """Forget what a preview showed, if it would still show the same.

        Raises:
            PreviewChangedError: it would not; nothing was forgotten.
        """
        preview = await self.previews.preview(scope, description)
        if preview.digest != digest:
            raise PreviewChangedError("the preview is out of date; nothing was forgotten")
        tombstones = [await self.forgetter.forget(scope, each.fact.memory_id, _ACTOR) for each in preview.meant]
        receipts = [await self._receipt(scope, tombstone) for tombstone in tombstones if tombstone is not None]
        return ReceiptPage(receipts=tuple(receipt for receipt in receipts if receipt is not None))

    async def forget_what(self, scope: Scope, what: What, digest: str | None = None) -> ReceiptView | None:
        """Fence a message, a session or a kind, then give the erasing worker a moment to finish before answering."""
        wanted = await wanted_of(await self.vault.keyring(scope), what)
        if wanted is None:
            return None
        tombstone = await self.forgetter.forget_wanted(scope, wanted, _ACTOR, digest)
        return None if tombstone is None else await self._receipt(scope, tombstone)

    async def preview_what(
        self, scope: Scope, what: What, *, reader: TokenRole = TokenRole.AGENT
    ) -> ForgetPreview | None:
        """Show what would go with a message, a session or a kind."""
        wanted = await wanted_of(await self.vault.keyring(scope), what)
        preview = None if wanted is None else await self.previews.preview_wanted(scope, wanted)
        return None if preview is None else await self._shown(scope, preview, reader)

    async def preview_whole(self, scope: Scope, what: Literal["person", "tenant"]) -> WholePreview:
        """Count what would go with a whole person or tenant."""
        return await self.previews.preview_whole(scope, what)

    async def forget_whole(self, scope: Scope, what: Literal["person", "tenant"], digest: str) -> ReceiptView:
        """Fence a whole person or tenant, then give the erasing worker a moment to finish before answering.

        Raises:
            PreviewChangedError: the digest names somebody else; nothing was forgotten.
        """
        if digest != whole_digest(scope, what):
            raise PreviewChangedError("the digest is not that of the preview; nothing was forgotten")
        receipt = await self._receipt(scope, await self.forgetter.forget_whole(scope, what, _PERSON))
        assert receipt is not None, "its tombstone was just written"  # noqa: S101 - narrows the type
        return receipt

    async def move(self, scope: Scope, memory_id: MemoryId, to: MoveRequest) -> AudienceView | None:
        """Say which readers a memory is for."""
        audience = await place_of(self.vault, scope, Bounds(to.project, None, to.assistant, to.purpose))
        version = await self.mover.move(scope, memory_id, audience, _PERSON)
        if version is None:
            return None
        keyring = await self.vault.keyring(scope)
        names = await keyring.outside({each for _, each in audience if each is not None})
        told = {name: names[each] for name, each in audience if each is not None}
        visibility = "project" if audience.project else "private"
        return AudienceView.model_validate(
            {"memory_id": memory_id, "version": version, "visibility": visibility, **told}
        )

    async def suspend(self, scope: Scope, memory_id: MemoryId, *, suspended: bool) -> SuspensionView | None:
        """Set a memory aside, or use it again."""
        there = await self.suspender.set(scope, memory_id, _PERSON, suspended=suspended)
        return SuspensionView(memory_id=memory_id, suspended=suspended) if there else None

    async def explain(
        self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole = TokenRole.AGENT
    ) -> Explanation | None:
        """Say why a memory is there, or a candidate is not."""
        return await self.explainer.explain(scope, memory_id, reader=reader)

    async def where(self, scope: Scope, memory_id: MemoryId) -> WhereView | None:
        """Say which layers hold a memory now, and who may read it."""
        shown = await self.catalogue.show(scope, memory_id, reader=TokenRole.PERSON, recorded=False)
        found = None if shown is None else await self.locations.of(scope, memory_id)
        if shown is None or found is None:
            return None
        by_agent = await self.catalogue.show(scope, memory_id, reader=TokenRole.AGENT, recorded=False)
        readers: tuple[Literal["person", "agent"], ...] = ("person", "agent")
        opened = (shown.content is not None, by_agent is not None and by_agent.content is not None)
        return WhereView(
            memory_id=memory_id,
            status=shown.status,
            readers=tuple(compress(readers, opened)),
            layers=tuple(
                PlaceView(
                    layer=each.finding.layer,
                    holds=each.holds,
                    versions=each.finding.versions,
                    position=each.finding.position,
                    checks=each.finding.checks,
                    readers=each.readers,
                    at=each.finding.at,
                )
                for each in found
            ),
        )

    async def trace(self, scope: Scope, trace_id: UUID) -> TraceView | None:
        """Show how an answer came about."""
        return await self.traces.show(scope, trace_id)

    async def inbox(self, scope: Scope, *, reader: TokenRole = TokenRole.AGENT) -> InboxPage:
        """List what waits for the person."""
        waiting = await self.waiting.waiting(scope)
        views = await self.catalogue.views(scope, [each.fact for each in waiting], "inbox", reader=reader)
        return InboxPage(
            entries=tuple(
                InboxEntry(**dict(view), why=each.why, rivals=each.rivals)
                for each, view in zip(waiting, views, strict=True)
            )
        )

    async def settle(self, scope: Scope, memory_id: MemoryId, *, confirmed: bool) -> SettledView | None:
        """Confirm or refuse what waits."""
        decide = self.waiting.confirm if confirmed else self.waiting.refuse
        settled = await decide(scope, memory_id, _PERSON)
        if settled is None:
            return None
        return SettledView(memory_id=settled.memory_id, version=settled.version, decision=settled.decision)

    async def consents(self, scope: Scope) -> ConsentPage:
        """Say of every sensitive class whether it is open."""
        consents = (await self.chooser.show(scope)).consents
        states = dict.fromkeys(self.chooser.classes, "none")
        states |= dict.fromkeys(consents.given, "given") | dict.fromkeys(consents.withdrawn, "withdrawn")
        purposes = consents.purposes
        keyring = await self.vault.keyring(scope.person)
        names = await keyring.outside({each for own in purposes.values() for each in own}) if purposes else {}
        views = (
            ConsentView(
                sensitivity=name, state=state, purposes=tuple(sorted(names[each] for each in purposes.get(name, ())))
            )
            for name, state in sorted(states.items())
        )
        return ConsentPage(consents=tuple(views))

    async def consent(self, scope: Scope, sensitivity: str, *, given: bool, purpose: str | None = None) -> ConsentPage:
        """Give consent to a sensitive class, which also confirms what waits for it, or withdraw it."""
        own = (await place_of(self.vault, scope, Bounds(purpose=purpose))).purpose
        await self.chooser.consent(scope, sensitivity, _PERSON, given=given, purpose=own)
        if given:
            await self.waiting.confirm_class(scope, sensitivity, _PERSON, own)
        return await self.consents(scope)

    async def suppressions(self, scope: Scope) -> SuppressionPage:
        """List what is not remembered."""
        known = (await self.chooser.show(scope)).suppressions
        views = (SuppressionView(suppression_id=each, description=said) for each, said in known.items())
        return SuppressionPage(suppressions=tuple(views))

    async def suppress(self, scope: Scope, description: str) -> SuppressionView:
        """Not remember what is described."""
        suppression = await self.chooser.suppress(scope, description, _PERSON)
        return SuppressionView(suppression_id=suppression, description=description)

    async def lift(self, scope: Scope, suppression: MemoryId) -> bool:
        """Remember such things again."""
        return await self.chooser.lift(scope, suppression, _PERSON)

    async def start_task(self, scope: Scope, start: TaskStart) -> TaskView:
        """Begin a task, or find that this command has begun it."""
        return await self.task_states.start(scope, start, _WORKFLOW)

    async def change_task(self, scope: Scope, task_id: str, change: TaskChange) -> TaskView | None:
        """Change a task once."""
        return await self.task_states.change(scope, task_id, change, _WORKFLOW)

    async def task(self, scope: Scope, task_id: str, *, reader: TokenRole = TokenRole.AGENT) -> TaskView | None:
        """Show a task."""
        return await self.task_states.book.show(scope, task_id, reader=reader)

    async def tasks(self, scope: Scope, limit: int, cursor: str | None) -> TaskPage:
        """List tasks, newest first."""
        return await self.task_states.book.page(scope, limit, cursor)

    async def _receipt(self, scope: Scope, tombstone: EventId) -> ReceiptView | None:
        deadline = asyncio.get_running_loop().time() + _ERASED_WITHIN_S
        while True:
            receipt = await self.receipt_book.show(scope, tombstone)
            done = receipt is not None and receipt.decision != "DELETION_PENDING"
            if done or asyncio.get_running_loop().time() > deadline:
                return receipt
            await asyncio.sleep(_POLL_S)

    def export(self, owner: Scope | TenantId, purpose: Purpose) -> AsyncIterator[bytes]:
        """Yield an export line by line."""
        return self.exporter.lines(owner, purpose)

    async def exports(self, owner: Scope | TenantId) -> ExportPage:
        """List the newest exports of an owner."""
        return await self.register.page(owner)

    async def export_detail(self, owner: Scope | TenantId, export_id: UUID) -> ExportDetail | None:
        """Say which lines of an export have been forgotten since."""
        return await self.register.show(owner, export_id)

    async def receipt(self, scope: Scope, receipt_id: EventId) -> ReceiptView | None:
        """Show how far one deletion has come."""
        return await self.receipt_book.show(scope, receipt_id)

    async def close_receipt(self, scope: Scope, receipt_id: EventId) -> ReceiptView | None:
        """Ask to close a deletion, and give the erasing worker a moment to sign that."""
        if not await self.receipt_book.close(scope, receipt_id):
            return None
        deadline = asyncio.get_running_loop().time() + _ERASED_WITHIN_S
        while True:
            receipt = await self.receipt_book.show(scope, receipt_id)
            if receipt is None or receipt.end is not None or asyncio.get_running_loop().time() > deadline:
                return receipt
            await asyncio.sleep(_POLL_S)

    async def deletions(self) -> Deletions:
        """Count the deletions that are not proven.

        Raises:
            UnavailableError: the log does not answer.
        """
        async with asyncio.timeout(_SIGN_S), self.reader.connection() as connection:
            row = await connection.fetchrow("select * from ops.count_erasures_v1()")
        return Deletions.model_validate(dict(row or {}))

    async def receipts(
        self,
        scope: Scope,
        limit: int,
        cursor: str | None,
        *,
        decision: Decision | None = None,
        since: datetime | None = None,
    ) -> ReceiptPage:
        """List receipts, newest first."""
        return await self.receipt_book.page(scope, limit, cursor, decision=decision, since=since)

    async def subject(self, tenant_id: TenantId, outside: str) -> SubjectId:
        """Return the internal id of a person, made on first use."""
        return await self.vault.subject(tenant_id, outside)

    async def bound(self, scope: Scope, bounds: Bounds) -> Scope:
        """Bind a person's scope, by outside ids, made on first use."""
        return await bound(self.vault, scope, bounds)

    async def holder_of_key(self, key: str) -> StoredKey | None:
        """Return whose API key this is."""
        return await holder_of(self.keys, key)

    async def standings(self) -> list[Standing]:
        """Return how every read model stands.

        Raises:
            UnavailableError: the log does not answer.
        """
        async with asyncio.timeout(_SIGN_S), self.reader.connection() as connection:
            return await standings(connection)

    async def coverage(self) -> Coverage:
        """Return how far the signed checkpoints of the log reach.

        Raises:
            UnavailableError: the log does not answer.
        """
        async with asyncio.timeout(_SIGN_S), self.reader.connection() as connection:
            return await coverage(connection)

    async def oldest_epoch(self) -> datetime | None:
        """Return when the oldest epoch of the vault's keys was born.

        Raises:
            UnavailableError: the vault does not answer.
        """
        async with asyncio.timeout(_SIGN_S):
            return await self.vault.oldest_epoch()

    async def health(self) -> dict[str, str]:
        """Ask every store for a sign of life."""
        return dict(await asyncio.gather(*(_sign(name, ask) for name, ask in self.stores.items())))

    async def _reach(self, position: int | None) -> None:
        """Wait until the read models have seen a position.

        Raises:
            BadInputError: the log does not reach that far, so no waiting helps.
            BehindError: they do not get there in time.
        """
        if position is None:
            return
        async with self.reader.connection() as connection:
            size: int = await connection.fetchval("select size from log.head")
        if position >= size:  # how long the log is, is the business of no single tenant
            raise BadInputError(f"at_least: position {position} is beyond the end of the log")
        deadline = asyncio.get_running_loop().time() + _REACH_S
        while True:
            async with self.reader.connection() as connection:
                reached = min([await position_of(connection, name) for name in ("facts", "sessions")])
            if reached >= Position(position):
                return
            if asyncio.get_running_loop().time() > deadline:
                raise BehindError(position)
            await asyncio.sleep(_POLL_S)


async def _sign(name: str, ask: Callable[[], Awaitable[None]]) -> tuple[str, str]:
    try:
        await asyncio.wait_for(ask(), _SIGN_S)
    except (CenotaphError, OSError, TimeoutError):
        return name, "down"
    return name, "ok"
