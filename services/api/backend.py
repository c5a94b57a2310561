"""What the door needs from the rest of the system."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from events.checkpointer import Coverage
from events.model import EventId, MemoryId, Scope, SubjectId, TenantId
from services.access.keys import StoredKey
from services.access.rights import TokenRole
from services.replay.standing import Standing
from services.wire.choices import ConsentPage, ForgetPreview, SuppressionPage, SuppressionView
from services.wire.explain import Explanation
from services.wire.exports import ExportDetail, ExportPage, Purpose
from services.wire.facts import FactAnswer, SystemFact
from services.wire.inbox import InboxPage, SettledView
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
from services.wire.where import WhereView


class Backend(Protocol):
    """Everything the door can ask for, always within a scope that came from a credential.

    `reader` is the part in which somebody reads: what is closed to an agent is a stone for it (R22).
    None means "no such thing in this scope" and never tells whether another scope has it. Raises the errors of
    `events.errors`; their messages name no content.
    """

    async def finalize(self, scope: Scope, turn: TurnIn) -> TurnAnswer:
        """Store a finished turn, or find that it is known or forgotten.

        Raises:
            TurnConflictError: The turn id is known with another body.
        """
        ...

    async def turn_outcome(self, scope: Scope, turn_id: str) -> TurnOutcome | None:
        """Say what became of a turn, by the id the caller gave it."""
        ...

    async def propose(self, scope: Scope, system: str, fact: SystemFact) -> FactAnswer | None:
        """Store what a business system states about a person; None where it does not own the key.

        Raises:
            TurnConflictError: The fact id is known with another body.
        """
        ...

    async def fact_outcome(self, scope: Scope, system: str, fact_id: str) -> TurnOutcome | None:
        """Say what became of a fact, by the id its system gave it."""
        ...

    async def context(self, scope: Scope, request: ContextRequest) -> ContextAnswer:
        """Compile context for an agent."""
        ...

    async def search(self, scope: Scope, request: SearchRequest) -> SearchAnswer:
        """Search the person's memories."""
        ...

    async def memories(
        self,
        scope: Scope,
        status: MemoryStatus | None,
        limit: int,
        cursor: str | None,
        *,
        reader: TokenRole = TokenRole.AGENT,
    ) -> MemoryPage:
        """List memories, newest first.

        Raises:
            BadInputError: The cursor is not one this method gave out.
        """
        ...

    async def memory(
        self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole = TokenRole.AGENT
    ) -> MemoryDetail | None:
        """Show one memory with its versions."""
        ...

    async def profile(self, scope: Scope, *, reader: TokenRole = TokenRole.AGENT) -> ProfileView:
        """Show the fields of the profile with their values."""
        ...

    async def forget(self, scope: Scope, memory_id: MemoryId, digest: str | None = None) -> ReceiptView | None:
        """Forget one memory; when this returns, no read started later sees it. Again: the same receipt.

        Raises:
            PreviewChangedError: A digest is given and a preview would show something else now; nothing was forgotten.
        """
        ...

    async def preview(self, scope: Scope, description: str, *, reader: TokenRole = TokenRole.AGENT) -> ForgetPreview:
        """Show what a description means; nothing is forgotten yet."""
        ...

    async def preview_memory(
        self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole = TokenRole.AGENT
    ) -> ForgetPreview | None:
        """Show what would go with one memory; nothing is forgotten yet."""
        ...

    async def forget_described(self, scope: Scope, description: str, digest: str) -> ReceiptPage:
        """Forget what a preview showed.

        Raises:
            PreviewChangedError: It would show something else now; nothing was forgotten.
        """
        ...

    async def forget_what(self, scope: Scope, what: What, digest: str | None = None) -> ReceiptView | None:
        """Forget a message, a session or a kind.

        Raises:
            PreviewChangedError: A digest is given and a preview would show something else now; nothing was forgotten.
        """
        ...

    async def preview_what(
        self, scope: Scope, what: What, *, reader: TokenRole = TokenRole.AGENT
    ) -> ForgetPreview | None:
        """Show what would go with a message, a session or a kind; nothing is forgotten yet."""
        ...

    async def preview_whole(self, scope: Scope, what: Literal["person", "tenant"]) -> WholePreview:
        """Count what would go with a whole person, or with a tenant (the nil subject)."""
        ...

    async def forget_whole(self, scope: Scope, what: Literal["person", "tenant"], digest: str) -> ReceiptView:
        """Forget a whole person or tenant; again: the same receipt.

        Raises:
            PreviewChangedError: The digest names somebody else; nothing was forgotten.
        """
        ...

    async def move(self, scope: Scope, memory_id: MemoryId, to: MoveRequest) -> AudienceView | None:
        """Say which readers a memory is for; None where there is none such."""
        ...

    async def suspend(self, scope: Scope, memory_id: MemoryId, *, suspended: bool) -> SuspensionView | None:
        """Set a memory aside, or use it again; nothing is destroyed."""
        ...

    async def explain(
        self, scope: Scope, memory_id: MemoryId, *, reader: TokenRole = TokenRole.AGENT
    ) -> Explanation | None:
        """Say why a memory is there, or a candidate is not: gates, features, policy, evidence, versions."""
        ...

    async def where(self, scope: Scope, memory_id: MemoryId) -> WhereView | None:
        """Say which layers hold a memory now, at which version, and who may read it.

        Raises:
            UnavailableError: nobody who may look everywhere answers.
        """
        ...

    async def trace(self, scope: Scope, trace_id: UUID) -> TraceView | None:
        """Show how an answer came about: ids, numbers and reasons, nothing that was said."""
        ...

    async def inbox(self, scope: Scope, *, reader: TokenRole = TokenRole.AGENT) -> InboxPage:
        """List what waits for the person."""
        ...

    async def settle(self, scope: Scope, memory_id: MemoryId, *, confirmed: bool) -> SettledView | None:
        """Confirm or refuse what waits; again: the same answer.

        Raises:
            BadInputError: It was decided otherwise before, or cannot be refused.
        """
        ...

    async def consents(self, scope: Scope) -> ConsentPage:
        """Say of every sensitive class whether it is open."""
        ...

    async def consent(self, scope: Scope, sensitivity: str, *, given: bool, purpose: str | None = None) -> ConsentPage:
        """Give consent to a sensitive class, which also confirms what waits for it, or withdraw it.

        Raises:
            BadInputError: There is no such class.
        """
        ...

    async def suppressions(self, scope: Scope) -> SuppressionPage:
        """List what is not remembered."""
        ...

    async def suppress(self, scope: Scope, description: str) -> SuppressionView:
        """Not remember what is described, from now on."""
        ...

    async def lift(self, scope: Scope, suppression_id: MemoryId) -> bool:
        """Remember such things again; False where there is no such suppression."""
        ...

    async def start_task(self, scope: Scope, start: TaskStart) -> TaskView:
        """Begin a task, or find that this command has begun it.

        Raises:
            TaskRefusedError: The id is that of another task.
        """
        ...

    async def change_task(self, scope: Scope, task_id: str, change: TaskChange) -> TaskView | None:
        """Change a task once.

        Raises:
            StaleVersionError: The caller has not seen the newest version.
            TaskRefusedError: The state does not allow it.
            BadInputError: It names a message or a memory that is not there.
        """
        ...

    async def task(self, scope: Scope, task_id: str, *, reader: TokenRole = TokenRole.AGENT) -> TaskView | None:
        """Show a task, by the id the caller gave it."""
        ...

    async def tasks(self, scope: Scope, limit: int, cursor: str | None) -> TaskPage:
        """List tasks, newest first.

        Raises:
            BadInputError: The cursor is not one this method gave out.
        """
        ...

    def export(self, owner: Scope | TenantId, purpose: Purpose) -> AsyncIterator[bytes]:
        """Yield an export line by line: a person's own, or a tenant's over those who agreed."""
        ...

    async def exports(self, owner: Scope | TenantId) -> ExportPage:
        """List the newest exports of an owner."""
        ...

    async def export_detail(self, owner: Scope | TenantId, export_id: UUID) -> ExportDetail | None:
        """Say which lines of an export have been forgotten since."""
        ...

    async def receipt(self, scope: Scope, receipt_id: EventId) -> ReceiptView | None:
        """Show how far one deletion has come."""
        ...

    async def close_receipt(self, scope: Scope, receipt_id: EventId) -> ReceiptView | None:
        """Close, as the person, a deletion of which a layer can never prove anything.

        Raises:
            BadInputError: Every layer can, or one says that something is still there.
        """
        ...

    async def deletions(self) -> Deletions:
        """Count the deletions of everybody that are not proven, and since when."""
        ...

    async def receipts(
        self,
        scope: Scope,
        limit: int,
        cursor: str | None,
        *,
        decision: Decision | None = None,
        since: datetime | None = None,
    ) -> ReceiptPage:
        """List receipts, newest first: all, those that have come so far, those asked for since a moment.

        Raises:
            BadInputError: The cursor is not one this method gave out.
        """
        ...

    async def subject(self, tenant_id: TenantId, outside: str) -> SubjectId:
        """Return the internal id of a person, made on first use."""
        ...

    async def bound(self, scope: Scope, bounds: Bounds) -> Scope:
        """Bind a person's scope, by the ids the caller gave them, made on first use."""
        ...

    async def holder_of_key(self, key: str) -> StoredKey | None:
        """Return whose API key this is, or None where it is unknown, revoked or not a key at all."""
        ...

    async def standings(self) -> Sequence[Standing]:
        """Return how every read model stands.

        Raises:
            UnavailableError: The log does not answer.
        """
        ...

    async def coverage(self) -> Coverage:
        """Return how far the signed checkpoints of the log reach.

        Raises:
            UnavailableError: The log does not answer.
        """
        ...

    async def oldest_epoch(self) -> datetime | None:
        """Return when the oldest epoch of the vault's keys was born, None where there is none yet."""
        ...

    async def health(self) -> dict[str, str]:
        """Return `ok` or one generic word for each store, by a name without address."""
        ...
