"""A `Backend` that remembers what it was asked and answers from values a test sets."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal
from uuid import UUID, uuid5

from events.checkpointer import Coverage
from events.errors import PreviewChangedError
from events.model import (
    Assertion,
    Audience,
    EventId,
    ItemId,
    Kind,
    MemoryId,
    Position,
    Scope,
    SubjectId,
    TenantId,
)
from services.access.keys import StoredKey
from services.access.rights import TokenRole
from services.replay.standing import Standing
from services.wire.choices import (
    ConsentPage,
    ConsentView,
    ForgetPreview,
    MeantView,
    SuppressionPage,
    SuppressionView,
)
from services.wire.explain import Explanation
from services.wire.exports import ExportDetail, ExportPage, ExportView, Line, Purpose
from services.wire.facts import FactAnswer, SystemFact
from services.wire.inbox import InboxEntry, InboxPage, SettledView
from services.wire.memories import (
    AudienceView,
    MemoryDetail,
    MemoryPage,
    MemoryStatus,
    MemoryView,
    MoveRequest,
    Source,
    SuspensionView,
)
from services.wire.names import Bounds
from services.wire.profile import FieldValue, FieldView, ProfileView, PurposeView
from services.wire.recall import (
    Cited,
    ContextAnswer,
    ContextRequest,
    Found,
    LeftOut,
    SearchAnswer,
    SearchRequest,
    Section,
)
from services.wire.receipts import Decision, Deletions, LayerView, ReceiptPage, ReceiptView, What, WholePreview
from services.wire.tasks import ItemView, LessonView, TaskChange, TaskPage, TaskStart, TaskSummary, TaskView
from services.wire.traces import TraceView
from services.wire.turns import TurnAnswer, TurnIn, TurnOutcome, Verdict
from services.wire.where import PlaceView, WhereView

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
MEMORY = MemoryId(UUID("0195f3a0-7c1e-7d53-9b1a-2f6f3f1f9a10"))
DIGEST = "3a" * 32
OWNED = "membership.tier"
SYSTEM_KEY = f"cnk_{'0' * 16}_{'a' * 43}"
RECEIPT = EventId(UUID("0195f3a0-7c1e-7d53-9b1a-2f6f3f1f9a11"))


def view(status: MemoryStatus = MemoryStatus.ACTIVE) -> MemoryView:
    """Make a memory in two languages."""
    return MemoryView(
        memory_id=MEMORY,
        version=1,
        status=status,
        kind=Kind.PREFERENCE,
        key="diet.dislikes",
        value="牛肉 beef",
        content="不吃牛肉 / does not eat beef",
        scope="personal",
        positive=False,
        assertion=Assertion.STATED,
        confidence=0.9,
        importance=0.7,
        recorded_at=NOW,
        occurred_at=NOW,
        sources=(Source(turn_id="t-1", message_id="m-1", start=0, end=5, state="readable"),),
    )


def task_view(task_id: str, *, known: bool = False) -> TaskView:
    """Make a task that was just begun."""
    step = ItemView(id=ItemId(MEMORY), text="查高铁 / find a train")
    return TaskView(
        task_id=task_id,
        type="行程",
        name="杭州",
        round=2,
        status="running",
        version=1,
        goal=step,
        constraints=(),
        current_step=None,
        completed=(),
        pending=(step,),
        key_facts=(),
        last_result=None,
        errors=0,
        last_error=None,
        budget_left={"calls": 5},
        started_at=NOW,
        expires_at=NOW,
        lessons=(LessonView(memory_id=MEMORY, version=1, text="ask once"),),
        known=known,
    )


class RecordingBackend:
    """Everything is there for the one scope it knows; every other scope finds nothing."""

    def __init__(self, tenant_id: TenantId, key: str) -> None:
        self.tenant_id = tenant_id
        self.key = key
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.fails: Exception | None = None
        self.state: str = "stored"
        self.stores: dict[str, str] = {"log": "ok", "vectors": "ok"}
        self.owner: Scope | None = None
        self.readers: list[TokenRole] = []

    def _called(self, name: str, *args: Any) -> None:  # noqa: ANN401  # whatever the door passes
        self.calls.append((name, args))
        if self.fails is not None:
            raise self.fails

    def _sees(self, scope: Scope) -> bool:
        return self.owner is None or scope == self.owner

    async def finalize(self, scope: Scope, turn: TurnIn) -> TurnAnswer:
        """Answer in the state the test set."""
        self._called("finalize", scope, turn)
        return TurnAnswer.model_validate({"turn_id": turn.turn_id, "state": self.state, "position": 7})

    async def turn_outcome(self, scope: Scope, turn_id: str) -> TurnOutcome | None:
        """Answer one accepted candidate."""
        self._called("turn_outcome", scope, turn_id)
        if not self._sees(scope):
            return None
        verdict = Verdict(memory_id=MEMORY, outcome="accepted", gate=None, reason=None, kind=Kind.PREFERENCE, version=1)
        return TurnOutcome(turn_id=turn_id, state="considered", verdicts=(verdict,), counts={"accepted": 1})

    async def context(self, scope: Scope, request: ContextRequest) -> ContextAnswer:
        """Answer one cited line."""
        self._called("context", scope, request)
        return ContextAnswer(
            context_id=RECEIPT,
            text="- 不吃牛肉",
            used_tokens=9,
            token_budget=request.token_budget,
            memories=(Cited(memory_id=MEMORY, version=1, kind=Kind.PREFERENCE, score=0.8),),
            left_out=(LeftOut(memory_id=None, reason="budget"),),
            sections=(Section(name="preferences", lines=("- 不吃牛肉",)),),
        )

    async def search(self, scope: Scope, request: SearchRequest) -> SearchAnswer:
        """Answer one memory."""
        self._called("search", scope, request)
        return SearchAnswer(context_id=UUID(int=7), memories=(Found(**view().model_dump(), score=0.5),))

    async def memories(
        self,
        scope: Scope,
        status: MemoryStatus | None,
        limit: int,
        cursor: str | None,
        *,
        reader: TokenRole = TokenRole.AGENT,
    ) -> MemoryPage:
        """Answer one page."""
        self.readers.append(reader)
        self._called("memories", scope, status, limit, cursor)
        return MemoryPage(memories=(view(),), next_cursor="abc")

    async def memory(
        self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole = TokenRole.AGENT
    ) -> MemoryDetail | None:
        """Answer the one memory there is."""
        self.readers.append(reader)
        self._called("memory", scope, memory_id)
        if memory_id != MEMORY or not self._sees(scope):
            return None
        return MemoryDetail(**view().model_dump(), versions=(view(),))

    async def profile(self, scope: Scope, *, reader: TokenRole = TokenRole.AGENT) -> ProfileView:
        """Answer one field with one value."""
        self.readers.append(reader)
        self._called("profile", scope)
        return ProfileView(
            fields=(
                FieldView(
                    key="identity.name",
                    purpose=PurposeView(zh="称呼本人", en="to address the person"),
                    visible_to=("chat",),
                    editable="person",
                    retention_days=None,
                    sensitivity=None,
                    values=(FieldValue(**view().model_dump(), kept_until=None),),
                ),
            )
        )

    async def forget(self, scope: Scope, memory_id: MemoryId, digest: str | None = None) -> ReceiptView | None:
        """Answer a pending receipt, to the digest of the preview only."""
        self._called("forget", scope, memory_id)
        if digest not in {None, DIGEST}:
            raise PreviewChangedError("out of date")
        return self._receipt(scope) if memory_id == MEMORY and self._sees(scope) else None

    async def preview(self, scope: Scope, description: str, *, reader: TokenRole = TokenRole.AGENT) -> ForgetPreview:
        """Mean the one memory there is."""
        self.readers.append(reader)
        self._called("preview", scope, description)
        meant = (MeantView(**view().model_dump(), score=0.6, versions=1),) if self._sees(scope) else ()
        return ForgetPreview(memories=meant, siblings=(), turns=("t-1",), messages=1, total=len(meant), digest=DIGEST)

    async def preview_memory(
        self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole = TokenRole.AGENT
    ) -> ForgetPreview | None:
        """Mean the one memory there is."""
        return await self.preview(scope, "any", reader=reader) if memory_id == MEMORY else None

    async def forget_what(self, scope: Scope, what: What, digest: str | None = None) -> ReceiptView | None:
        """Answer a pending receipt, to the digest of the preview only."""
        self._called("forget_what", scope, what, digest)
        if digest not in {None, DIGEST}:
            raise PreviewChangedError("out of date")
        return self._receipt(scope) if what.session_id != "unknown" else None

    async def preview_what(
        self, scope: Scope, what: What, *, reader: TokenRole = TokenRole.AGENT
    ) -> ForgetPreview | None:
        """Mean the one memory there is."""
        return None if what.session_id == "unknown" else await self.preview(scope, "any", reader=reader)

    async def preview_whole(self, scope: Scope, what: Literal["person", "tenant"]) -> WholePreview:
        """Count a little."""
        self._called("preview_whole", scope, what)
        return WholePreview(scope=what, people=1, memories=1, turns=1, messages=2, digest=DIGEST)

    async def forget_whole(self, scope: Scope, what: Literal["person", "tenant"], digest: str) -> ReceiptView:
        """Accept the digest of the preview only."""
        self._called("forget_whole", scope, what)
        if digest != DIGEST:
            raise PreviewChangedError("somebody else")
        return self._receipt(scope)

    async def move(self, scope: Scope, memory_id: MemoryId, to: MoveRequest) -> AudienceView | None:
        """Know one memory."""
        self._called("move", scope, memory_id, to)
        if memory_id != MEMORY:
            return None
        visibility: Literal["project", "private"] = "project" if to.project else "private"
        return AudienceView(memory_id=memory_id, version=2, visibility=visibility, **to.model_dump())

    async def suspend(self, scope: Scope, memory_id: MemoryId, *, suspended: bool) -> SuspensionView | None:
        """Know the one memory there is."""
        self._called("suspend", scope, memory_id, suspended)
        return SuspensionView(memory_id=memory_id, suspended=suspended) if memory_id == MEMORY else None

    async def forget_described(self, scope: Scope, description: str, digest: str) -> ReceiptPage:
        """Accept the digest of the preview only."""
        self._called("forget_described", scope, description, digest)
        if digest != DIGEST:
            raise PreviewChangedError("out of date")
        return ReceiptPage(receipts=(self._receipt(scope),))

    async def explain(
        self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole = TokenRole.AGENT
    ) -> Explanation | None:
        """Explain the one memory there is."""
        self.readers.append(reader)
        self._called("explain", scope, memory_id)
        if memory_id != MEMORY or not self._sees(scope):
            return None
        return Explanation(
            memory_id=MEMORY, judgements=(), versions=(view(),), reinforced=0, rivals=(), settled=(), forgotten=False
        )

    async def where(self, scope: Scope, memory_id: MemoryId) -> WhereView | None:
        """Find the one memory there is in one layer."""
        self._called("where", scope, memory_id)
        if memory_id != MEMORY or not self._sees(scope):
            return None
        place = PlaceView(
            layer="facts",
            holds=True,
            versions=(1,),
            position=7,
            checks={"by_id": 1},
            readers=("cenotaph_reader",),
            at=NOW,
        )
        return WhereView(memory_id=MEMORY, status=MemoryStatus.ACTIVE, readers=("person", "agent"), layers=(place,))

    async def trace(self, scope: Scope, trace_id: UUID) -> TraceView | None:
        """Show the one trace there is."""
        self._called("trace", scope, trace_id)
        if trace_id != RECEIPT or not self._sees(scope):
            return None
        return TraceView(
            trace_id=RECEIPT, path="context", role="chat", at=NOW, memories=(MEMORY,), forgotten=False, turns=("t-1",)
        )

    async def inbox(self, scope: Scope, *, reader: TokenRole = TokenRole.AGENT) -> InboxPage:
        """Hold the one memory there is."""
        self.readers.append(reader)
        self._called("inbox", scope)
        return InboxPage(entries=(InboxEntry(**view(MemoryStatus.HELD).model_dump(), why="needs_consent"),))

    async def settle(self, scope: Scope, memory_id: MemoryId, *, confirmed: bool) -> SettledView | None:
        """Settle the one memory there is."""
        self._called("settle", scope, memory_id, confirmed)
        if memory_id != MEMORY or not self._sees(scope):
            return None
        return SettledView(memory_id=MEMORY, version=1, decision="confirmed" if confirmed else "refused")

    async def consents(self, scope: Scope) -> ConsentPage:
        """Have one class."""
        self._called("consents", scope)
        return ConsentPage(consents=(ConsentView(sensitivity="health", state="none"),))

    async def consent(self, scope: Scope, sensitivity: str, *, given: bool, purpose: str | None = None) -> ConsentPage:
        """Open or close it."""
        self._called("consent", scope, sensitivity, given, *([purpose] if purpose else ()))
        state: Literal["given", "withdrawn"] = "given" if given else "withdrawn"
        return ConsentPage(consents=(ConsentView(sensitivity=sensitivity, state=state),))

    async def suppressions(self, scope: Scope) -> SuppressionPage:
        """List one."""
        self._called("suppressions", scope)
        return SuppressionPage(suppressions=(SuppressionView(suppression_id=MEMORY, description="我玩什么游戏"),))

    async def suppress(self, scope: Scope, description: str) -> SuppressionView:
        """Take it."""
        self._called("suppress", scope, description)
        return SuppressionView(suppression_id=MEMORY, description=description)

    async def lift(self, scope: Scope, suppression_id: MemoryId) -> bool:
        """Lift the one there is."""
        self._called("lift", scope, suppression_id)
        return suppression_id == MEMORY and self._sees(scope)

    async def start_task(self, scope: Scope, start: TaskStart) -> TaskView:
        """Answer that it has begun."""
        self._called("start_task", scope, start)
        return task_view(start.task_id, known=self.state == "known")

    async def change_task(self, scope: Scope, task_id: str, change: TaskChange) -> TaskView | None:
        """Answer the one task there is."""
        self._called("change_task", scope, task_id, change)
        return task_view(task_id) if self._sees(scope) else None

    async def task(self, scope: Scope, task_id: str, *, reader: TokenRole = TokenRole.AGENT) -> TaskView | None:
        """Answer the one task there is."""
        self._called("task", scope, task_id)
        self.readers.append(reader)
        return task_view(task_id) if self._sees(scope) else None

    async def tasks(self, scope: Scope, limit: int, cursor: str | None) -> TaskPage:
        """Answer one page."""
        self._called("tasks", scope, limit, cursor)
        one = TaskSummary(
            task_id="周报/7", round=1, status="running", version=1, errors=0, started_at=NOW, expires_at=NOW
        )
        return TaskPage(tasks=(one,), next_cursor=cursor)

    async def export(self, owner: Scope | TenantId, purpose: Purpose) -> AsyncIterator[bytes]:
        """Yield two lines, the last with the digest of the first."""
        self._called("export", owner, purpose)
        head = b'{"schema":"cenotaph.export/1"}\n'
        yield head
        yield b'{"digest":"' + sha256(head).hexdigest().encode() + b'"}\n'

    async def exports(self, owner: Scope | TenantId) -> ExportPage:
        """Have one."""
        self._called("exports", owner)
        return ExportPage(exports=(self._export(),))

    async def export_detail(self, owner: Scope | TenantId, export_id: UUID) -> ExportDetail | None:
        """Have one line of it forgotten."""
        self._called("export_detail", owner, export_id)
        if export_id != RECEIPT:
            return None
        return ExportDetail(**self._export().model_dump(), forgotten=(Line(memory_id=MEMORY, version=1),))

    def _export(self) -> ExportView:
        return ExportView(export_id=RECEIPT, purpose="download", at=NOW, memories=2, digest=DIGEST)

    async def receipt(self, scope: Scope, receipt_id: EventId) -> ReceiptView | None:
        """Answer the one receipt there is."""
        self._called("receipt", scope, receipt_id)
        return self._receipt(scope) if receipt_id == RECEIPT and self._sees(scope) else None

    async def close_receipt(self, scope: Scope, receipt_id: EventId) -> ReceiptView | None:
        """Know the one receipt there is."""
        self._called("close_receipt", scope, receipt_id)
        return await self.receipt(scope, receipt_id)

    async def deletions(self) -> Deletions:
        """Count one that waits."""
        self._called("deletions")
        return Deletions(pending=1, pending_since=NOW, unpurged=0, unpurged_since=None)

    async def receipts(
        self,
        scope: Scope,
        limit: int,
        cursor: str | None,
        *,
        decision: Decision | None = None,
        since: datetime | None = None,
    ) -> ReceiptPage:
        """Answer one page."""
        self._called("receipts", scope, limit, cursor, decision, since)
        return ReceiptPage(receipts=(self._receipt(scope),))

    async def subject(self, tenant_id: TenantId, outside: str) -> SubjectId:
        """Derive the same id for the same outside id."""
        self._called("subject", tenant_id, outside)
        return SubjectId(uuid5(tenant_id, outside))

    async def bound(self, scope: Scope, bounds: Bounds) -> Scope:
        """Derive the same ids for the same outside ids."""
        self._called("bound", scope, bounds)
        ids = {
            name.removesuffix("_id"): None if outside is None else uuid5(scope.subject_id, outside)
            for name, outside in bounds._asdict().items()
        }
        return scope.within(Audience.model_validate(ids))

    async def propose(self, scope: Scope, system: str, fact: SystemFact) -> FactAnswer | None:
        """Answer as the test set, for the one key that the system owns."""
        self._called("propose", scope, system, fact)
        return FactAnswer(fact_id=fact.fact_id, state="stored", position=7) if fact.key == OWNED else None

    async def fact_outcome(self, scope: Scope, system: str, fact_id: str) -> TurnOutcome | None:
        """Know one fact."""
        self._called("fact_outcome", scope, system, fact_id)
        return TurnOutcome(turn_id=fact_id, state="pending", counts={}, verdicts=()) if fact_id == "f-1" else None

    async def holder_of_key(self, key: str) -> StoredKey | None:
        """Know exactly two keys: the tenant's, and that of a system."""
        system = {self.key: None, SYSTEM_KEY: "crm"}.get(key, "")
        if system == "":
            return None
        return StoredKey(key_id="0" * 16, tenant_id=self.tenant_id, digest=b"", system=system)

    async def standings(self) -> list[Standing]:
        """Answer that keywords were never compared, and that facts differ in two places."""
        if self.fails is not None:
            raise self.fails
        facts = Standing(model="facts", skipped=3, position=Position(9), compared=8, differences=2, compared_at=NOW)
        return [facts, Standing(model="keywords", skipped=0)]

    async def coverage(self) -> Coverage:
        """Answer a day in the past, and five events since."""
        self._called("coverage")
        return Coverage(NOW, 5)

    async def oldest_epoch(self) -> datetime | None:
        """Answer a day in the past."""
        self._called("oldest_epoch")
        return NOW

    async def health(self) -> dict[str, str]:
        """Answer what the test set."""
        if self.fails is not None:
            raise self.fails
        return self.stores

    def _receipt(self, scope: Scope) -> ReceiptView:
        return ReceiptView(
            receipt_id=RECEIPT,
            memory_id=MEMORY,
            scope="memory",
            memories=1,
            messages=2,
            tenant_id=scope.tenant_id,
            tombstone_version=2,
            decision="DELETION_PENDING",
            layers=(LayerView(layer="vector_index", state="purged", checks={"by_id": 0}, at=NOW),),
            negative_queries={"by_id": 1},
            requested_at=NOW,
        )
