"""Every call of the door as a value: what is sent, what comes back. No I/O.

Each may be sent again: a turn goes by its id, a forget by its memory, a second token does no harm, the rest only read.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar
from urllib.parse import quote
from uuid import UUID

import httpx
from pydantic import ValidationError

from cenotaph import answers
from cenotaph.errors import CenotaphError, of_problem

A = TypeVar("A", bound=answers.Answer)

Role = Literal["user", "assistant", "system", "tool"]
Origin = Literal["user", "assistant", "tool", "retrieved", "injected", "subagent", "system"]
Status = Literal["completed", "cancelled", "failed"]
RecallRole = Literal["chat", "planner", "search", "generator"]
RankingPreset = Literal["default", "support", "medical", "coding", "authority"]
ExportPurpose = Literal["download", "training", "evaluation"]
MemoryStatus = Literal["active", "held", "superseded", "in_conflict", "merged", "expired", "forgotten"]


ReceiptDecision = Literal["DELETION_PENDING", "deletion_propagated", "deletion_purged", "closed_unproven"]


class Message(TypedDict):
    """One message of a turn; `message_id` is yours, `origin` follows from the role where it is left out."""

    message_id: str
    role: Role
    content: str
    origin: NotRequired[Origin]


@dataclass(frozen=True, slots=True)
class Turn:
    """A finished turn. Sending the same one again is safe; the same id with another body is refused.

    `occurred_at` needs its offset. `contexts` are the ids of the compiled contexts that were put into it.
    """

    turn_id: str
    session_id: str
    occurred_at: datetime
    messages: Sequence[Message]
    status: Status = "completed"
    contexts: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class TaskStart:
    """A task to begin; again by the same command is safe. Tasks of one type and name are rounds of each other.

    `budget` counts `steps`, `calls`, `tokens`, `seconds` or `cents`.
    """

    command_id: str
    task_id: str
    type: str
    name: str
    goal: str
    constraints: Sequence[str] = ()
    steps: Sequence[str] = ()
    budget: Mapping[str, int] = field(default_factory=dict)
    expires_in_s: int = 86_400


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """One request, and the answer it promises."""

    method: str
    path: str
    answer: type[A]
    sent: Mapping[str, Any] | None = None
    params: Mapping[str, str | int] = field(default_factory=dict)

    def request(self, build: Callable[..., httpx.Request], **headers: str) -> httpx.Request:
        """Build the request with `httpx.Client.build_request`, which adds the address and the timeouts."""
        if self.sent is None:
            return build(self.method, self.path, params=self.params, headers=headers)
        headers["Content-Type"] = "application/json"
        return build(self.method, self.path, content=_encoded(self.sent), headers=headers)

    def read(self, response: httpx.Response) -> A:
        """Turn a response into the answer.

        Raises:
            CenotaphError: It is a problem, or not this answer.
        """
        if not response.is_success:
            raise problem_of(response)
        try:
            return self.answer.model_validate_json(response.content or b"{}")
        except ValidationError:
            detail = "the door's answer does not fit this client; compare their versions"
            raise CenotaphError("answer", detail, status=response.status_code) from None


def _encoded(sent: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(sent, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # A lone surrogate goes out escaped, so that the door can say in which field it is.
        return json.dumps(sent).encode()


def problem_of(response: httpx.Response) -> CenotaphError:
    """Read a response that is not a success; its body must have been read."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    headers = response.headers
    return of_problem(response.status_code, problem, headers.get("x-request-id"), headers.get("retry-after"))


def _some(**fields: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON values
    return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a token is bound to, by your own ids: what it writes is for that.

    With a `project` it reads what is for that project and nothing private. What is for a task, an assistant or a
    purpose is read by tokens of the same one only.
    """

    project: str | None = None
    task_id: str | None = None
    assistant: str | None = None
    purpose: str | None = None


UNBOUND = Bounds()


def token(subject: str, role: str, ttl_s: int, bounds: Bounds = UNBOUND) -> Call[answers.Token]:
    """Mint a token."""
    sent: dict[str, object] = {"subject": subject, "role": role, "ttl_s": ttl_s}
    sent |= {name: each for name, each in asdict(bounds).items() if each is not None}
    return Call("POST", "/v1/tokens", answers.Token, sent=sent)


def finalize(turn: Turn) -> Call[answers.Stored]:
    """Hand over a finished turn; its id makes it idempotent."""
    sent = {
        "schema": "cenotaph.turn/1",
        "turn_id": turn.turn_id,
        "session_id": turn.session_id,
        "occurred_at": turn.occurred_at.isoformat(),
        "status": turn.status,
        "messages": list(turn.messages),
        "contexts": [str(each) for each in turn.contexts],
    }
    return Call("POST", "/v1/turns", answers.Stored, sent=sent)


def outcome(turn_id: str) -> Call[answers.Outcome]:
    """Ask what became of a turn."""
    return Call("GET", f"/v1/turns/{quote(turn_id, safe='')}", answers.Outcome)


def context(
    query: str,
    *,
    role: RecallRole,
    token_budget: int,
    preset: RankingPreset,
    session_id: str | None,
    task_id: str | None,
    at_least: int | None,
) -> Call[answers.Context]:
    """Compile context."""
    sent = _some(
        query=query,
        role=role,
        token_budget=token_budget,
        preset=preset,
        session_id=session_id,
        task_id=task_id,
        at_least=at_least,
    )
    return Call("POST", "/v1/context", answers.Context, sent=sent)


def search(
    query: str, *, limit: int, role: RecallRole, preset: RankingPreset, at_least: int | None
) -> Call[answers.Search]:
    """Search memories."""
    sent = _some(query=query, limit=limit, role=role, preset=preset, at_least=at_least)
    return Call("POST", "/v1/memories/search", answers.Search, sent=sent)


def profile() -> Call[answers.Profile]:
    """Show the profile."""
    return Call("GET", "/v1/profile", answers.Profile)


def memories(status: MemoryStatus | None, limit: int, cursor: str | None) -> Call[answers.MemoryPage]:
    """List memories."""
    return Call("GET", "/v1/memories", answers.MemoryPage, params=_some(status=status, limit=limit, cursor=cursor))


def memory(memory_id: UUID) -> Call[answers.MemoryDetail]:
    """Show one memory."""
    return Call("GET", f"/v1/memories/{memory_id}", answers.MemoryDetail)


def forget(memory_id: UUID, digest: str | None) -> Call[answers.Receipt]:
    """Forget one memory; again gives the same receipt."""
    return Call("POST", "/v1/forget", answers.Receipt, sent={"memory_id": str(memory_id)} | _some(digest=digest))


def receipt(receipt_id: UUID) -> Call[answers.Receipt]:
    """Show one receipt."""
    return Call("GET", f"/v1/receipts/{receipt_id}", answers.Receipt)


def receipts(limit: int, cursor: str | None, decision: ReceiptDecision | None) -> Call[answers.ReceiptPage]:
    """List receipts."""
    params = _some(limit=limit, cursor=cursor, decision=decision)
    return Call("GET", "/v1/receipts", answers.ReceiptPage, params=params)


def close_receipt(receipt_id: UUID) -> Call[answers.Receipt]:
    """Close a deletion unproven; again gives the same receipt."""
    return Call("POST", f"/v1/receipts/{receipt_id}/close", answers.Receipt)


@dataclass(frozen=True, slots=True)
class What:
    """Something to forget that is more than one memory; name one: `message` (turn id, message id), session or kind."""

    message: tuple[str, str] | None = None
    session_id: str | None = None
    kind: str | None = None

    def sent(self) -> dict[str, Any]:
        """Say it in the door's words."""
        message = None
        if self.message is not None:
            message = {"turn_id": self.message[0], "message_id": self.message[1]}
        return _some(message=message, session_id=self.session_id, kind=self.kind)


def forget_what(what: What, digest: str | None) -> Call[answers.Receipt]:
    """Forget a message, a session or a kind; again gives the same receipt."""
    return Call("POST", "/v1/forget", answers.Receipt, sent=what.sent() | _some(digest=digest))


def preview_whole(what: Literal["person", "tenant"]) -> Call[answers.WholePreview]:
    """Count what would go with the whole person, or the tenant."""
    return Call("GET", f"/v1/{what}/forget", answers.WholePreview)


def forget_whole(what: Literal["person", "tenant"], digest: str) -> Call[answers.Receipt]:
    """Forget the whole person, or the tenant; again gives the same receipt."""
    return Call("POST", f"/v1/{what}/forget", answers.Receipt, sent={"digest": digest})


def move(memory_id: UUID, project: str | None, assistant: str | None, purpose: str | None) -> Call[answers.AudienceOf]:
    """Say which readers a memory is for."""
    sent = _some(project=project, assistant=assistant, purpose=purpose)
    return Call("PUT", f"/v1/memories/{memory_id}/audience", answers.AudienceOf, sent=sent)


def suspend(memory_id: UUID, *, suspended: bool) -> Call[answers.Suspension]:
    """Set a memory aside, or use it again."""
    return Call("POST", f"/v1/memories/{memory_id}/{'suspend' if suspended else 'resume'}", answers.Suspension)


def preview(what: What | UUID | str) -> Call[answers.ForgetPreview]:
    """Show what a description means, or what would go with a memory, a message, a session or a kind."""
    sent = (
        what.sent() if isinstance(what, What) else {"description" if isinstance(what, str) else "memory_id": str(what)}
    )
    return Call("POST", "/v1/forget/preview", answers.ForgetPreview, sent=sent)


def forget_described(description: str, digest: str) -> Call[answers.ReceiptPage]:
    """Forget what a preview showed; again forgets nothing more."""
    sent = {"description": description, "digest": digest}
    return Call("POST", "/v1/forget/described", answers.ReceiptPage, sent=sent)


def explain(memory_id: UUID) -> Call[answers.Explanation]:
    """Explain one memory or candidate."""
    return Call("GET", f"/v1/memories/{memory_id}/explain", answers.Explanation)


def where(memory_id: UUID) -> Call[answers.Where]:
    """Ask every layer for one memory."""
    return Call("GET", f"/v1/memories/{memory_id}/where", answers.Where)


def trace(trace_id: UUID) -> Call[answers.Trace]:
    """Show how an answer came about."""
    return Call("GET", f"/v1/traces/{trace_id}", answers.Trace)


def export(purpose: ExportPurpose) -> Call[answers.Nothing]:
    """Stream an export; every time it is another one."""
    return Call("POST", "/v1/exports", answers.Nothing, sent={"purpose": purpose})


def exports() -> Call[answers.Exports]:
    """List exports."""
    return Call("GET", "/v1/exports", answers.Exports)


def export_detail(export_id: UUID) -> Call[answers.ExportDetail]:
    """Say what of an export has been forgotten."""
    return Call("GET", f"/v1/exports/{export_id}", answers.ExportDetail)


def inbox() -> Call[answers.Inbox]:
    """List what waits."""
    return Call("GET", "/v1/inbox", answers.Inbox)


def settle(memory_id: UUID, *, confirmed: bool) -> Call[answers.Settled]:
    """Confirm or refuse what waits; again gives the same answer."""
    return Call("POST", f"/v1/inbox/{memory_id}/{'confirm' if confirmed else 'refuse'}", answers.Settled)


def consents() -> Call[answers.Consents]:
    """List the sensitive classes."""
    return Call("GET", "/v1/consents", answers.Consents)


def consent(sensitivity: str, *, given: bool, purpose: str | None) -> Call[answers.Consents]:
    """Give or withdraw consent."""
    sent = _some(given=given, purpose=purpose)
    return Call("PUT", f"/v1/consents/{quote(sensitivity, safe='')}", answers.Consents, sent=sent)


def suppressions() -> Call[answers.Suppressions]:
    """List what is not remembered."""
    return Call("GET", "/v1/suppressions", answers.Suppressions)


def suppress(description: str) -> Call[answers.Suppression]:
    """Not remember what is described; the same words give the same suppression."""
    return Call("POST", "/v1/suppressions", answers.Suppression, sent={"description": description})


def lift(suppression_id: UUID) -> Call[answers.Nothing]:
    """Remember such things again."""
    return Call("DELETE", f"/v1/suppressions/{suppression_id}", answers.Nothing)


def start_task(start: TaskStart) -> Call[answers.Task]:
    """Begin a task; again by the same command changes nothing."""
    sent = {
        "command_id": start.command_id,
        "task_id": start.task_id,
        "type": start.type,
        "name": start.name,
        "goal": start.goal,
        "constraints": list(start.constraints),
        "steps": list(start.steps),
        "budget": dict(start.budget),
        "expires_in_s": start.expires_in_s,
    }
    return Call("POST", "/v1/tasks", answers.Task, sent=sent)


def change_task(
    task_id: str,
    change: Mapping[str, Any],
    *,
    command_id: str,
    expected_version: int,
    constraints: Sequence[str] | None,
) -> Call[answers.Task]:
    """Change a task; again by the same command changes nothing."""
    held = None if constraints is None else list(constraints)
    sent = _some(command_id=command_id, expected_version=expected_version, constraints=held, change=dict(change))
    return Call("POST", f"/v1/tasks/{quote(task_id, safe='')}", answers.Task, sent=sent)


def task(task_id: str) -> Call[answers.Task]:
    """Show a task."""
    return Call("GET", f"/v1/tasks/{quote(task_id, safe='')}", answers.Task)


def tasks(limit: int, cursor: str | None) -> Call[answers.Tasks]:
    """List tasks."""
    return Call("GET", "/v1/tasks", answers.Tasks, params=_some(limit=limit, cursor=cursor))
