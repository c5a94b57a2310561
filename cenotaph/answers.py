"""What the door answers, as the client hands it on. Fields a newer door adds are ignored."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

TaskStatus = Literal["running", "succeeded", "partial", "failed", "abandoned", "expired"]


class Answer(BaseModel):
    """A value from the door."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Token(Answer):
    """A bearer token for one person's memory."""

    token: str
    expires_at: datetime


class Stored(Answer):
    """A turn is in the log (`stored`), was already (`known`), or was forgotten and stays so (`forgotten`)."""

    turn_id: str
    state: Literal["stored", "known", "forgotten"]
    redacted: dict[str, int]
    position: int | None


class Verdict(Answer):
    """What became of one candidate."""

    memory_id: UUID
    outcome: str
    gate: str | None
    reason: str | None
    kind: str
    version: int | None


class Outcome(Answer):
    """What a turn led to; `pending` until it has been considered."""

    turn_id: str
    state: Literal["pending", "considered"]
    verdicts: tuple[Verdict, ...]
    counts: dict[str, int]


class Cited(Answer):
    """A memory that stands in the compiled text; no write may rest on one where `may_drive_a_write` is False."""

    memory_id: UUID
    version: int
    kind: str
    score: float
    may_drive_a_write: bool = True


class LeftOut(Answer):
    """What did not get in, and why."""

    memory_id: UUID | None
    reason: str


class Section(Answer):
    """One labelled part of the text."""

    name: str
    lines: tuple[str, ...]


class Context(Answer):
    """Compiled text for the system prompt; `degraded` names the recall paths that did not answer."""

    context_id: UUID
    text: str
    used_tokens: int
    token_budget: int
    memories: tuple[Cited, ...]
    left_out: tuple[LeftOut, ...]
    sections: tuple[Section, ...]
    degraded: tuple[str, ...] = ()


class TraceFeatures(Answer):
    """What a score was made of."""

    relevance: float
    importance: float
    confidence: float
    days: float
    authority: float
    match: float
    risk: float
    stale: bool
    in_conflict: bool


class TracedMemory(Answer):
    """How far one memory version came; `fate` is `injected`, or why it did not get in. No id where it was forgotten."""

    memory_id: UUID | None
    version: int
    kind: str
    fate: str
    paths: tuple[str, ...]
    dense: float | None
    dense_rank: int | None
    words: float | None
    words_rank: int | None
    relevance: float
    features: TraceFeatures | None
    score: float | None
    rank: int | None
    section: str | None


class TraceHead(Answer):
    """What an answer was made under."""

    model: str
    preset: str
    policy: str
    position: int
    version: int
    indexed: int
    degraded: tuple[str, ...]
    cached: bool
    rewriting: str
    token_budget: int | None
    used_tokens: int | None
    more: dict[str, int]


class Trace(Answer):
    """How an answer came about; `turns` are those it was injected into."""

    trace_id: UUID
    path: str
    role: str
    at: datetime
    memories: tuple[UUID, ...]
    forgotten: bool
    turns: tuple[str, ...]
    trace: TraceHead | None
    candidates: tuple[TracedMemory, ...]


class Source(Answer):
    """The words a memory rests on: `content[start:end]` of that message."""

    turn_id: str
    message_id: str
    start: int
    end: int
    state: str


class Memory(Answer):
    """One version of a memory; a forgotten one has no content, and for an agent one that is `withheld` has none."""

    memory_id: UUID
    version: int | None
    status: str
    kind: str
    key: str | None
    value: str | None
    content: str | None
    scope: str | None
    positive: bool | None
    assertion: str | None
    confidence: float
    importance: float
    recorded_at: datetime
    occurred_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    sources: tuple[Source, ...]
    reason: str | None
    sensitivity: str | None = None
    withheld: str | None
    freshness: str | None = None
    visibility: str | None = None
    project: str | None = None
    task_id: str | None = None
    assistant: str | None = None
    purpose: str | None = None


class Purpose(Answer):
    """What a field of the profile is for, in both languages."""

    zh: str
    en: str


class FieldRules(Answer):
    """What holds for a field of the profile; `editable` is `person`, `confirm` or `system`."""

    key: str
    purpose: Purpose
    visible_to: tuple[str, ...]
    editable: str
    retention_days: int | None
    sensitivity: str | None


class FieldValue(Memory):
    """A memory under a field of the profile, and until when it is kept."""

    kept_until: datetime | None


class Field(FieldRules):
    """A field of the profile with its values."""

    values: tuple[FieldValue, ...]


class Profile(Answer):
    """All fields of the profile there are."""

    fields: tuple[Field, ...]


class Found(Memory):
    """A memory with its rank score."""

    score: float


class Search(Answer):
    """What was found, best first; `degraded` names the recall paths that did not answer."""

    context_id: UUID
    memories: tuple[Found, ...]
    degraded: tuple[str, ...] = ()


class MemoryDetail(Memory):
    """A memory with all its versions, oldest first."""

    versions: tuple[Memory, ...]


class MemoryPage(Answer):
    """Some memories, and the cursor of the next page."""

    memories: tuple[Memory, ...]
    next_cursor: str | None


class Copy(Answer):
    """A backup that may hold the sealed bytes, and by when nothing opens it, None if that is past."""

    copy_id: UUID
    made_at: datetime
    keys_die_by: datetime | None


class Layer(Answer):
    """What one layer answered about a deletion: counts, what each asked, how far it had followed the log, when.

    `holders` are the exports that hold it, `copies` the backups.
    """

    layer: str
    state: str
    checks: dict[str, int]
    queries: dict[str, str] = {}
    holders: tuple[UUID, ...] = ()
    position: int | None = None
    copies: tuple[Copy, ...] = ()
    at: datetime


class ReceiptEnd(Answer):
    """The second receipt: the bytes are gone too, or the person closed what could not be proven."""

    layers: tuple[Layer, ...]
    at: datetime
    statement: str
    signature: str


class Receipt(Answer):
    """How far a deletion has come; signed once `decision` is `deletion_propagated`."""

    receipt_id: UUID
    memory_id: UUID | None
    scope: str
    memories: int | None
    messages: int | None
    tenant_id: UUID
    tombstone_version: int
    decision: str
    layers: tuple[Layer, ...]
    negative_queries: dict[str, int]
    keys_die_by: datetime | None
    out_of_scope: tuple[str, ...]
    injected_turns: tuple[str, ...]
    requested_at: datetime
    propagated_at: datetime | None
    unasked: str | None = None
    statement: str | None
    signature: str | None
    signing_key: str | None
    end: ReceiptEnd | None = None
    capability: str | None = None


class WholePreview(Answer):
    """What would go with a whole person or tenant, counted; `digest` confirms it."""

    scope: str
    people: int
    memories: int
    turns: int
    messages: int
    digest: str


class Meant(Memory):
    """A memory that a description means."""

    score: float | None
    versions: int


class ForgetPreview(Answer):
    """What would be forgotten; `digest` confirms exactly this."""

    memories: tuple[Meant, ...]
    total: int
    siblings: tuple[UUID, ...]
    turns: tuple[str, ...]
    messages: int
    digest: str
    lifted: int


class AudienceOf(Answer):
    """Which readers a memory is for, and since which version."""

    memory_id: UUID
    version: int
    visibility: str
    project: str | None = None
    assistant: str | None = None
    purpose: str | None = None


class Suspension(Answer):
    """Whether a memory is set aside; nothing of it is destroyed."""

    memory_id: UUID
    suspended: bool
    reversible: bool


class Waiting(Memory):
    """A memory that waits for the person: `needs_consent`, `held` or `in_conflict` with its rivals."""

    why: str
    rivals: tuple[UUID, ...]


class Inbox(Answer):
    """Everything that waits."""

    entries: tuple[Waiting, ...]


class Settled(Answer):
    """Where something that waited ended."""

    memory_id: UUID
    version: int
    decision: str


class Consent(Answer):
    """A sensitive class: `given`, `none` or `withdrawn`."""

    sensitivity: str
    state: str
    purposes: tuple[str, ...] = ()


class Consents(Answer):
    """Every sensitive class."""

    consents: tuple[Consent, ...]


class Suppression(Answer):
    """Something that is not remembered."""

    suppression_id: UUID
    description: str


class Suppressions(Answer):
    """Everything that is not remembered."""

    suppressions: tuple[Suppression, ...]


class TaskItem(Answer):
    """One text of a task; None where it was forgotten or may not be read."""

    id: UUID
    text: str | None
    memories: tuple[UUID, ...]


class Lesson(Answer):
    """What an earlier round of a task learned."""

    memory_id: UUID
    version: int
    text: str


class Task(Answer):
    """The state of a task: enough to go on with it. `known` says that the command had been carried out before."""

    task_id: str
    type: str | None
    name: str | None
    round: int
    status: TaskStatus
    version: int
    goal: TaskItem | None
    constraints: tuple[TaskItem, ...]
    current_step: TaskItem | None
    completed: tuple[TaskItem, ...]
    pending: tuple[TaskItem, ...]
    key_facts: tuple[TaskItem, ...]
    last_result: TaskItem | None
    errors: int
    last_error: TaskItem | None
    budget_left: dict[str, int]
    started_at: datetime
    expires_at: datetime
    lessons: tuple[Lesson, ...]
    turn_id: str | None
    known: bool


class TaskInList(Answer):
    """A task without its texts."""

    task_id: str
    round: int
    status: TaskStatus
    version: int
    errors: int
    started_at: datetime
    expires_at: datetime


class Tasks(Answer):
    """Tasks, newest first."""

    tasks: tuple[TaskInList, ...]
    next_cursor: str | None


class Nothing(Answer):
    """The door did it and has nothing to say."""


class GateVerdict(Answer):
    """What one gate said."""

    gate: str
    verdict: str
    reason: str | None
    meaning: str | None


class Judgement(Answer):
    """How one candidate was judged."""

    candidate_id: UUID
    outcome: str
    kind: str
    assertion: str
    confidence: float
    importance: float
    features: dict[str, float]
    gates: tuple[GateVerdict, ...]
    extractor: str | None
    fallback: str | None
    policy: str | None
    turn_id: str
    at: datetime
    evidence: tuple[Source, ...]


class Explanation(Answer):
    """Everything the log says about one memory or candidate."""

    memory_id: UUID
    judgements: tuple[Judgement, ...]
    versions: tuple[Memory, ...]
    reinforced: int
    rivals: tuple[UUID, ...]
    settled: tuple[str, ...]
    forgotten: bool
    field: FieldRules | None = None


class Held(Answer):
    """What one layer holds of a memory; `holds` is None where it could not be asked."""

    layer: str
    holds: bool | None
    versions: tuple[int, ...]
    position: int | None
    checks: dict[str, int]
    readers: tuple[str, ...]
    at: datetime


class Where(Answer):
    """Where a memory is, and the roles to which the API gives its content."""

    memory_id: UUID
    status: str
    readers: tuple[str, ...]
    layers: tuple[Held, ...]


class Export(Answer):
    """A registered export; one that was cut short has no digest."""

    export_id: UUID
    purpose: str
    at: datetime
    memories: int
    digest: str | None


class Exports(Answer):
    """The newest exports."""

    exports: tuple[Export, ...]


class ExportLine(Answer):
    """A line of an export."""

    memory_id: UUID
    version: int


class ExportDetail(Export):
    """A registered export, and which of its lines have been forgotten since."""

    forgotten: tuple[ExportLine, ...]


class ReceiptPage(Answer):
    """Some receipts, and the cursor of the next page."""

    receipts: tuple[Receipt, ...]
    next_cursor: str | None
