"""The typed client: `Cenotaph` for ordinary programs, `AsyncCenotaph` for asyncio; both speak the same calls.

with Cenotaph("http://127.0.0.1:8765") as door:
    memory = door.for_subject(tenant_key, "user-17")
    print(memory.context("晚饭推荐什么？", role="chat").text)
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Literal, Self
from uuid import UUID

import httpx

from cenotaph import answers, calls
from cenotaph.auth import BearerAuth
from cenotaph.calls import (
    Bounds,
    ExportPurpose,
    MemoryStatus,
    RankingPreset,
    RecallRole,
    ReceiptDecision,
    TaskStart,
    Turn,
    What,
)
from cenotaph.transport import PATIENT, AsyncSender, Retry, Sender

TokenRole = Literal["agent", "person", "auditor", "workflow", "system"]


class Cenotaph:
    """One person's memory over HTTP, blocking.

    Args:
        base_url: Where the door is.
        token: A token somebody minted for you; or leave it out and use `for_subject`.
        timeout_s: For connecting and for each read.
        retry: How often an idempotent call is sent again when the door is closed or says 503.
        transport: Another httpx transport, such as one over a unix socket.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        timeout_s: float = 10.0,
        retry: Retry = PATIENT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        http = httpx.Client(base_url=base_url, timeout=timeout_s, transport=transport)
        self._sender = Sender(http, BearerAuth(token) if token else None, retry)

    def for_subject(
        self,
        tenant_key: str,
        subject: str,
        *,
        role: TokenRole = "agent",
        ttl_s: int = 900,
        bounds: Bounds = calls.UNBOUND,
    ) -> Self:
        """Return a client for one person that mints and renews its tokens; it shares this one's connections.

        `bounds` bind an agent or a workflow to a project, a task, an assistant, a purpose: what it writes is for them,
        and it reads nothing that is for another (`Bounds`).
        """
        session = copy(self)
        session._sender = self._sender.minting(tenant_key, calls.token(subject, role, ttl_s, bounds))  # noqa: SLF001  # its own kind
        return session

    def finalize(self, turn: Turn) -> answers.Stored:
        """Hand over a finished turn. Sending the same again is safe."""
        return self._sender.send(calls.finalize(turn))

    def outcome(self, turn_id: str) -> answers.Outcome:
        """Ask what became of a turn."""
        return self._sender.send(calls.outcome(turn_id))

    def context(
        self,
        query: str,
        *,
        role: RecallRole,
        token_budget: int = 800,
        preset: RankingPreset = "default",
        session_id: str | None = None,
        task_id: str | None = None,
        at_least: int | None = None,
    ) -> answers.Context:
        """Compile what the agent should know; `at_least` is the position of a turn it must have seen."""
        return self._sender.send(
            calls.context(
                query,
                role=role,
                token_budget=token_budget,
                preset=preset,
                session_id=session_id,
                task_id=task_id,
                at_least=at_least,
            )
        )

    def search(
        self,
        query: str,
        *,
        limit: int = 8,
        role: RecallRole = "chat",
        preset: RankingPreset = "default",
        at_least: int | None = None,
    ) -> answers.Search:
        """Search the person's memories."""
        return self._sender.send(calls.search(query, limit=limit, role=role, preset=preset, at_least=at_least))

    def memories(
        self, status: MemoryStatus | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> answers.MemoryPage:
        """List what is kept, newest first."""
        return self._sender.send(calls.memories(status, limit, cursor))

    def memory(self, memory_id: UUID) -> answers.MemoryDetail:
        """Show one memory with its versions."""
        return self._sender.send(calls.memory(memory_id))

    def profile(self) -> answers.Profile:
        """Show the fields of the profile: what each is for, who sees and changes it, and what is kept under it."""
        return self._sender.send(calls.profile())

    def forget(self, memory_id: UUID, digest: str | None = None) -> answers.Receipt:
        """Forget one memory, irreversibly; with a preview's digest only what that showed."""
        return self._sender.send(calls.forget(memory_id, digest))

    def forget_what(self, what: What, digest: str | None = None) -> answers.Receipt:
        """Forget a message, a session or a kind, irreversibly; with a preview's digest only what that showed."""
        return self._sender.send(calls.forget_what(what, digest))

    def preview_person(self) -> answers.WholePreview:
        """Count what would go with the whole person. Takes the role `person`."""
        return self._sender.send(calls.preview_whole("person"))

    def forget_person(self, digest: str) -> answers.Receipt:
        """Forget the whole person for good; only the answer's `capability`, as a token, opens the receipt then."""
        return self._sender.send(calls.forget_whole("person", digest))

    def preview_tenant(self) -> answers.WholePreview:
        """Count what would go with the whole tenant. Takes the tenant's key as `token`."""
        return self._sender.send(calls.preview_whole("tenant"))

    def forget_tenant(self, digest: str) -> answers.Receipt:
        """Forget the whole tenant for good; only the answer's `capability`, as a token, opens the receipt then."""
        return self._sender.send(calls.forget_whole("tenant", digest))

    def move(
        self,
        memory_id: UUID,
        *,
        project: str | None = None,
        assistant: str | None = None,
        purpose: str | None = None,
    ) -> answers.AudienceOf:
        """Say which readers a memory is for; with nothing it is private, for all. Takes the role `person`."""
        return self._sender.send(calls.move(memory_id, project, assistant, purpose))

    def suspend(self, memory_id: UUID) -> answers.Suspension:
        """Set a memory aside: no agent reads it until it is resumed. Nothing is destroyed."""
        return self._sender.send(calls.suspend(memory_id, suspended=True))

    def resume(self, memory_id: UUID) -> answers.Suspension:
        """Use a memory again that was set aside."""
        return self._sender.send(calls.suspend(memory_id, suspended=False))

    def preview(self, what: What | UUID | str) -> answers.ForgetPreview:
        """Show what a memory, a description, a message, a session or a kind means, before anything is forgotten."""
        return self._sender.send(calls.preview(what))

    def forget_described(self, description: str, digest: str) -> answers.ReceiptPage:
        """Forget what a preview showed, irreversibly; refused if it would show something else by now."""
        return self._sender.send(calls.forget_described(description, digest))

    def explain(self, memory_id: UUID) -> answers.Explanation:
        """Say why a memory is there, or a candidate is not."""
        return self._sender.send(calls.explain(memory_id))

    def where(self, memory_id: UUID) -> answers.Where:
        """Say which layers hold a memory now, at which version, and who may read it there."""
        return self._sender.send(calls.where(memory_id))

    def trace(self, trace_id: UUID) -> answers.Trace:
        """Show how a context or search came about, by its `context_id`."""
        return self._sender.send(calls.trace(trace_id))

    def export(self, purpose: ExportPurpose = "download") -> Iterator[bytes]:
        """Yield an export as JSON lines and check at its end that it is whole.

        Takes the role `person`; or a tenant's key given as `token`, for the purposes `training` and `evaluation`.
        """
        return self._sender.stream(calls.export(purpose))

    def exports(self) -> answers.Exports:
        """List the newest exports."""
        return self._sender.send(calls.exports())

    def export_detail(self, export_id: UUID) -> answers.ExportDetail:
        """Say which lines of an export have been forgotten since."""
        return self._sender.send(calls.export_detail(export_id))

    def inbox(self) -> answers.Inbox:
        """List what waits for the person."""
        return self._sender.send(calls.inbox())

    def confirm(self, memory_id: UUID) -> answers.Settled:
        """Make what waits a memory, or let it stand against its rivals. Takes the role `person`."""
        return self._sender.send(calls.settle(memory_id, confirmed=True))

    def refuse(self, memory_id: UUID) -> answers.Settled:
        """Drop what is held, with its content. Takes the role `person`."""
        return self._sender.send(calls.settle(memory_id, confirmed=False))

    def consents(self) -> answers.Consents:
        """Say of every sensitive class whether it is open."""
        return self._sender.send(calls.consents())

    def consent(self, sensitivity: str, *, given: bool, purpose: str | None = None) -> answers.Consents:
        """Give consent to a sensitive class, with a purpose for that alone, or withdraw it. Takes the role `person`."""
        return self._sender.send(calls.consent(sensitivity, given=given, purpose=purpose))

    def suppressions(self) -> answers.Suppressions:
        """List what is not remembered. Takes the role `person`."""
        return self._sender.send(calls.suppressions())

    def suppress(self, description: str) -> answers.Suppression:
        """Not remember what is described, in other words too where they are recognised. Takes the role `person`."""
        return self._sender.send(calls.suppress(description))

    def lift(self, suppression_id: UUID) -> answers.Nothing:
        """Remember such things again. Takes the role `person`."""
        return self._sender.send(calls.lift(suppression_id))

    def start_task(self, start: TaskStart) -> answers.Task:
        """Begin a task, with what its earlier rounds learned. Takes the role `workflow`."""
        return self._sender.send(calls.start_task(start))

    def change_task(
        self,
        task_id: str,
        change: Mapping[str, Any],
        *,
        command_id: str,
        expected_version: int,
        constraints: Sequence[str] | None = None,
    ) -> answers.Task:
        """Change a task: `{"do": "begin_step", "step_id": …}` and so on. Takes the role `workflow`."""
        return self._sender.send(
            calls.change_task(
                task_id, change, command_id=command_id, expected_version=expected_version, constraints=constraints
            )
        )

    def task(self, task_id: str) -> answers.Task:
        """Show a task: all that is needed to go on with it."""
        return self._sender.send(calls.task(task_id))

    def tasks(self, *, limit: int = 50, cursor: str | None = None) -> answers.Tasks:
        """List tasks, newest first."""
        return self._sender.send(calls.tasks(limit, cursor))

    def receipt(self, receipt_id: UUID) -> answers.Receipt:
        """Show how far one deletion has come."""
        return self._sender.send(calls.receipt(receipt_id))

    def receipts(
        self, *, limit: int = 50, cursor: str | None = None, decision: ReceiptDecision | None = None
    ) -> answers.ReceiptPage:
        """List deletions, newest first: all, or those that have come so far."""
        return self._sender.send(calls.receipts(limit, cursor, decision))

    def close_receipt(self, receipt_id: UUID) -> answers.Receipt:
        """Close a deletion of which a layer can never prove anything. Takes the role `person`."""
        return self._sender.send(calls.close_receipt(receipt_id))

    def close(self) -> None:
        """Close the connections, also those of every `for_subject`."""
        self._sender.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncCenotaph:
    """One person's memory over HTTP, for asyncio; see `Cenotaph` for what each argument means."""

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        timeout_s: float = 10.0,
        retry: Retry = PATIENT,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        http = httpx.AsyncClient(base_url=base_url, timeout=timeout_s, transport=transport)
        self._sender = AsyncSender(http, BearerAuth(token) if token else None, retry)

    def for_subject(
        self,
        tenant_key: str,
        subject: str,
        *,
        role: TokenRole = "agent",
        ttl_s: int = 900,
        bounds: Bounds = calls.UNBOUND,
    ) -> Self:
        """Return a client for one person that mints and renews its tokens; it shares this one's connections.

        `bounds` bind an agent or a workflow to a project, a task, an assistant, a purpose: what it writes is for them,
        and it reads nothing that is for another (`Bounds`).
        """
        session = copy(self)
        session._sender = self._sender.minting(tenant_key, calls.token(subject, role, ttl_s, bounds))  # noqa: SLF001  # its own kind
        return session

    async def finalize(self, turn: Turn) -> answers.Stored:
        """Hand over a finished turn. Sending the same again is safe."""
        return await self._sender.send(calls.finalize(turn))

    async def outcome(self, turn_id: str) -> answers.Outcome:
        """Ask what became of a turn."""
        return await self._sender.send(calls.outcome(turn_id))

    async def context(
        self,
        query: str,
        *,
        role: RecallRole,
        token_budget: int = 800,
        preset: RankingPreset = "default",
        session_id: str | None = None,
        task_id: str | None = None,
        at_least: int | None = None,
    ) -> answers.Context:
        """Compile what the agent should know; `at_least` is the position of a turn it must have seen."""
        return await self._sender.send(
            calls.context(
                query,
                role=role,
                token_budget=token_budget,
                preset=preset,
                session_id=session_id,
                task_id=task_id,
                at_least=at_least,
            )
        )

    async def search(
        self,
        query: str,
        *,
        limit: int = 8,
        role: RecallRole = "chat",
        preset: RankingPreset = "default",
        at_least: int | None = None,
    ) -> answers.Search:
        """Search the person's memories."""
        return await self._sender.send(calls.search(query, limit=limit, role=role, preset=preset, at_least=at_least))

    async def memories(
        self, status: MemoryStatus | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> answers.MemoryPage:
        """List what is kept, newest first."""
        return await self._sender.send(calls.memories(status, limit, cursor))

    async def memory(self, memory_id: UUID) -> answers.MemoryDetail:
        """Show one memory with its versions."""
        return await self._sender.send(calls.memory(memory_id))

    async def profile(self) -> answers.Profile:
        """Show the fields of the profile: what each is for, who sees and changes it, and what is kept under it."""
        return await self._sender.send(calls.profile())

    async def forget(self, memory_id: UUID, digest: str | None = None) -> answers.Receipt:
        """Forget one memory, irreversibly; with a preview's digest only what that showed."""
        return await self._sender.send(calls.forget(memory_id, digest))

    async def forget_what(self, what: What, digest: str | None = None) -> answers.Receipt:
        """Forget a message, a session or a kind, irreversibly; with a preview's digest only what that showed."""
        return await self._sender.send(calls.forget_what(what, digest))

    async def preview_person(self) -> answers.WholePreview:
        """Count what would go with the whole person. Takes the role `person`."""
        return await self._sender.send(calls.preview_whole("person"))

    async def forget_person(self, digest: str) -> answers.Receipt:
        """Forget the whole person for good; only the answer's `capability`, as a token, opens the receipt then."""
        return await self._sender.send(calls.forget_whole("person", digest))

    async def preview_tenant(self) -> answers.WholePreview:
        """Count what would go with the whole tenant. Takes the tenant's key as `token`."""
        return await self._sender.send(calls.preview_whole("tenant"))

    async def forget_tenant(self, digest: str) -> answers.Receipt:
        """Forget the whole tenant for good; only the answer's `capability`, as a token, opens the receipt then."""
        return await self._sender.send(calls.forget_whole("tenant", digest))

    async def move(
        self,
        memory_id: UUID,
        *,
        project: str | None = None,
        assistant: str | None = None,
        purpose: str | None = None,
    ) -> answers.AudienceOf:
        """Say which readers a memory is for; with nothing it is private, for all. Takes the role `person`."""
        return await self._sender.send(calls.move(memory_id, project, assistant, purpose))

    async def suspend(self, memory_id: UUID) -> answers.Suspension:
        """Set a memory aside: no agent reads it until it is resumed. Nothing is destroyed."""
        return await self._sender.send(calls.suspend(memory_id, suspended=True))

    async def resume(self, memory_id: UUID) -> answers.Suspension:
        """Use a memory again that was set aside."""
        return await self._sender.send(calls.suspend(memory_id, suspended=False))

    async def preview(self, what: What | UUID | str) -> answers.ForgetPreview:
        """Show what a memory, a description, a message, a session or a kind means, before anything is forgotten."""
        return await self._sender.send(calls.preview(what))

    async def forget_described(self, description: str, digest: str) -> answers.ReceiptPage:
        """Forget what a preview showed, irreversibly; refused if it would show something else by now."""
        return await self._sender.send(calls.forget_described(description, digest))

    async def explain(self, memory_id: UUID) -> answers.Explanation:
        """Say why a memory is there, or a candidate is not."""
        return await self._sender.send(calls.explain(memory_id))

    async def where(self, memory_id: UUID) -> answers.Where:
        """Say which layers hold a memory now, at which version, and who may read it there."""
        return await self._sender.send(calls.where(memory_id))

    async def trace(self, trace_id: UUID) -> answers.Trace:
        """Show how a context or search came about, by its `context_id`."""
        return await self._sender.send(calls.trace(trace_id))

    def export(self, purpose: ExportPurpose = "download") -> AsyncIterator[bytes]:
        """Yield an export as JSON lines; see `Cenotaph.export`."""
        return self._sender.stream(calls.export(purpose))

    async def exports(self) -> answers.Exports:
        """List the newest exports."""
        return await self._sender.send(calls.exports())

    async def export_detail(self, export_id: UUID) -> answers.ExportDetail:
        """Say which lines of an export have been forgotten since."""
        return await self._sender.send(calls.export_detail(export_id))

    async def inbox(self) -> answers.Inbox:
        """List what waits for the person."""
        return await self._sender.send(calls.inbox())

    async def confirm(self, memory_id: UUID) -> answers.Settled:
        """Make what waits a memory, or let it stand against its rivals. Takes the role `person`."""
        return await self._sender.send(calls.settle(memory_id, confirmed=True))

    async def refuse(self, memory_id: UUID) -> answers.Settled:
        """Drop what is held, with its content. Takes the role `person`."""
        return await self._sender.send(calls.settle(memory_id, confirmed=False))

    async def consents(self) -> answers.Consents:
        """Say of every sensitive class whether it is open."""
        return await self._sender.send(calls.consents())

    async def consent(self, sensitivity: str, *, given: bool, purpose: str | None = None) -> answers.Consents:
        """Give consent to a sensitive class, with a purpose for that alone, or withdraw it. Takes the role `person`."""
        return await self._sender.send(calls.consent(sensitivity, given=given, purpose=purpose))

    async def suppressions(self) -> answers.Suppressions:
        """List what is not remembered. Takes the role `person`."""
        return await self._sender.send(calls.suppressions())

    async def suppress(self, description: str) -> answers.Suppression:
        """Not remember what is described, in other words too where they are recognised. Takes the role `person`."""
        return await self._sender.send(calls.suppress(description))

    async def lift(self, suppression_id: UUID) -> answers.Nothing:
        """Remember such things again. Takes the role `person`."""
        return await self._sender.send(calls.lift(suppression_id))

    async def start_task(self, start: TaskStart) -> answers.Task:
        """Begin a task, with what its earlier rounds learned. Takes the role `workflow`."""
        return await self._sender.send(calls.start_task(start))

    async def change_task(
        self,
        task_id: str,
        change: Mapping[str, Any],
        *,
        command_id: str,
        expected_version: int,
        constraints: Sequence[str] | None = None,
    ) -> answers.Task:
        """Change a task: `{"do": "begin_step", "step_id": …}` and so on. Takes the role `workflow`."""
        return await self._sender.send(
            calls.change_task(
                task_id, change, command_id=command_id, expected_version=expected_version, constraints=constraints
            )
        )

    async def task(self, task_id: str) -> answers.Task:
        """Show a task: all that is needed to go on with it."""
        return await self._sender.send(calls.task(task_id))

    async def tasks(self, *, limit: int = 50, cursor: str | None = None) -> answers.Tasks:
        """List tasks, newest first."""
        return await self._sender.send(calls.tasks(limit, cursor))

    async def receipt(self, receipt_id: UUID) -> answers.Receipt:
        """Show how far one deletion has come."""
        return await self._sender.send(calls.receipt(receipt_id))

    async def receipts(
        self, *, limit: int = 50, cursor: str | None = None, decision: ReceiptDecision | None = None
    ) -> answers.ReceiptPage:
        """List deletions, newest first: all, or those that have come so far."""
        return await self._sender.send(calls.receipts(limit, cursor, decision))

    async def close_receipt(self, receipt_id: UUID) -> answers.Receipt:
        """Close a deletion of which a layer can never prove anything. Takes the role `person`."""
        return await self._sender.send(calls.close_receipt(receipt_id))

    async def close(self) -> None:
        """Close the connections, also those of every `for_subject`."""
        await self._sender.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
