"""The vocabulary: ids, the words a turn and a memory are made of, and every event the log can hold (R1).

Each event class is the *clear* half of an event: random internal ids, numbers, times and generic reasons. What a person
said lives in sealed parts (`MessageBody`, `MemoryBody`, `IndexBody`) beside it, each under a data key of its own (R4).
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal, NewType
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

TenantId = NewType("TenantId", UUID)
SubjectId = NewType("SubjectId", UUID)
SessionId = NewType("SessionId", UUID)
TurnId = NewType("TurnId", UUID)
MessageId = NewType("MessageId", UUID)
MemoryId = NewType("MemoryId", UUID)
TaskId = NewType("TaskId", UUID)
ProjectId = NewType("ProjectId", UUID)
AssistantId = NewType("AssistantId", UUID)
PurposeId = NewType("PurposeId", UUID)
ItemId = NewType("ItemId", UUID)
KeyId = NewType("KeyId", UUID)
EventId = NewType("EventId", UUID)
CommandId = NewType("CommandId", UUID)
Position = NewType("Position", int)


class Role(StrEnum):
    """Who speaks in a message, as chat APIs name it."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Origin(StrEnum):
    """Where the text of a message really comes from; gates look at this, never at the role (R10, R11)."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    RETRIEVED = "retrieved"
    INJECTED = "injected"
    SUBAGENT = "subagent"
    SYSTEM = "system"  # a business system's own statement, through its own credential; no turn from outside names it


ANSWERS: Final = frozenset({Origin.ASSISTANT, Origin.SUBAGENT})
"""What an agent said in a turn."""

FROM_CONTEXT: Final = ANSWERS | {Origin.INJECTED}
"""Where the words of a compiled context may stand in the turn it was injected into."""


class TurnStatus(StrEnum):
    """How a turn ended; only a completed one yields candidates."""

    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Kind(StrEnum):
    """What sort of memory it is (R15)."""

    PREFERENCE = "preference"
    FACT = "fact"
    GOAL = "goal"
    PROJECT = "project"
    FORMAT = "format"
    PROFILE = "profile"
    PLAN = "plan"
    EPISODE = "episode"
    REFLECTION = "reflection"
    PROCEDURE = "procedure"


class Assertion(StrEnum):
    """How the claim is made (R12)."""

    STATED = "stated"
    INFERRED = "inferred"
    PLANNED = "planned"
    PAST = "past"
    HYPOTHETICAL = "hypothetical"
    NEGATED = "negated"


class Outcome(StrEnum):
    """What the gates made of a candidate that was not written (R1)."""

    REJECTED = "rejected"
    WORKING_ONLY = "working_only"
    SUPPRESSED = "suppressed"
    HELD = "held"


ForgetScope = Literal["memory", "message", "session", "kind", "person", "tenant"]
"""What somebody may ask to be forgotten at once (R40)."""


class Slot(StrEnum):
    """What a text of working memory is (R51, R52)."""

    GOAL = "goal"
    CONSTRAINT = "constraint"
    STEP = "step"
    FACT = "fact"
    RESULT = "result"
    ERROR = "error"
    REASON = "reason"


class SummarySlot(StrEnum):
    """What a text of a session's summary is (R51)."""

    GOAL = "goal"
    CONSTRAINT = "constraint"
    FACT = "fact"
    RESULT = "result"
    QUESTION = "question"
    ACTION = "action"


class Frozen(BaseModel):
    """A value: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Audience(Frozen):
    """Which readers of one person something is for (R30, R31).

    With a `project` it has the visibility `project`: readers in that project get it, and the person. Without one it is
    `private`: no reader that is bound to a project gets it. With a `task` it is for that task alone, with an
    `assistant` for that assistant alone, with a `purpose` for readers for that purpose alone. Ids are internal.
    """

    project: ProjectId | None = None
    task: TaskId | None = None
    assistant: AssistantId | None = None
    purpose: PurposeId | None = None

    @property
    def beyond_its_task(self) -> "Audience":
        """The readers that are left when the task is over."""
        return self.model_copy(update={"task": None})


PRIVATE: Final = Audience()
"""For every reader of the person who is not bound to a project, whichever assistant and for whatever purpose."""


class Reach(Frozen):
    """How far a credential reads within one person's memory: one project or all that is theirs, one task or none.

    And of what is for one assistant or for one purpose, only what is for its own.
    """

    project: ProjectId | None = None
    task: TaskId | None = None
    assistant: AssistantId | None = None
    purpose: PurposeId | None = None

    @property
    def audience(self) -> Audience:
        """Who may read what is said through such a credential."""
        return Audience(**dict(self))

    def admits(self, audience: Audience) -> bool:
        """Tell whether what is for this audience may be read."""
        return (
            self.project in {None, audience.project}
            and audience.task in {None, self.task}
            and audience.assistant in {None, self.assistant}
            and audience.purpose in {None, self.purpose}
        )


class Scope(Frozen):
    """Whose memory, and how far into it: from the credential, never from a payload (R30).

    Two scopes of one person are equal however far they reach. Without a `reach` everything of the person is read: so do
    the system's own parts, and the person.
    """

    tenant_id: TenantId
    subject_id: SubjectId
    reach: Reach | None = None

    def __eq__(self, other: object) -> bool:
        """Tell whether it is the same person."""
        return isinstance(other, Scope) and (self.tenant_id, self.subject_id) == (other.tenant_id, other.subject_id)

    def __hash__(self) -> int:
        """Hash the person."""
        return hash((self.tenant_id, self.subject_id))

    def admits(self, audience: Audience) -> bool:
        """Tell whether what is for this audience may be read."""
        return self.reach is None or self.reach.admits(audience)

    @property
    def audience(self) -> Audience:
        """Who may read what is said under this scope."""
        return PRIVATE if self.reach is None else self.reach.audience

    def within(self, audience: Audience) -> "Scope":
        """Bound as an audience is, as what is made of it has to be."""
        return Scope(tenant_id=self.tenant_id, subject_id=self.subject_id, reach=Reach(**dict(audience)))

    @property
    def person(self) -> "Scope":
        """All of the person: for decisions, which hold whoever asked for them."""
        return Scope(tenant_id=self.tenant_id, subject_id=self.subject_id)


class Evidence(Frozen):
    """A pointer to the words a claim rests on: `content[start:end]` of that message, never a copy (R12)."""

    message_id: MessageId
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class Message(Frozen):
    """One message of a finished turn, secrets already replaced."""

    message_id: MessageId
    role: Role
    origin: Origin
    content: str


class Turn(Frozen):
    """A finished turn as the extractor sees it.

    `before` is what the person said last in the session, where this turn points back to it: to know what "it" is,
    never as evidence. Where that took something back itself, what it took back stands before it.
    """

    turn_id: TurnId
    session_id: SessionId
    status: TurnStatus
    occurred_at: datetime
    messages: tuple[Message, ...]
    before: tuple[Message, ...] = ()


Unit = Annotated[float, Field(ge=0.0, le=1.0)]


class Claim(Frozen):
    """What a memory says: the part that is compared when two claims meet.

    `key` is a semantic key of the vocabulary (`diet.likes`) or None where nothing fits. `positive` is the polarity:
    "does not eat beef" is the value *beef* with `positive=False`. `scope` is `personal` or a name such as
    `project:atlas`.
    """

    kind: Kind
    key: str | None
    value: str
    content: str
    scope: str = "personal"
    positive: bool = True
    multi_valued: bool = False
    valid_from: datetime | None = None
    valid_until: datetime | None = None


class Candidate(Claim):
    """A proposed memory. Extractors make them, gates decide (R12).

    `explicit` means the person asked to remember it. `ephemeral` means it is meant for this once only. `sensitivity`
    names a class of R13.8 (`health`, `finance`, …) or is None. `replaces` is the value that the person says is no
    longer so, where they name it: it finds the memory to replace under whatever key that is. `amends` marks what only
    says how something has changed: it is nothing where nothing is known of it. `said_by` names the business system that
    proposes it, None the person (R14).
    """

    evidence: tuple[Evidence, ...]
    assertion: Assertion
    confidence: Unit
    importance: Unit
    explicit: bool = False
    ephemeral: bool = False
    correction: bool = False
    sensitivity: str | None = None
    replaces: str | None = None
    amends: bool = False
    said_by: str | None = None


class Suppression(Frozen):
    """The person said not to remember something: spans of this turn, and the words it was described with."""

    evidence: Evidence
    covers: tuple[Evidence, ...]


class StandingWish(Frozen):
    """The person said what not to remember from now on, or, where it `lifts`, that such things may be kept again.

    `description` is what they named, in their own words; `evidence` is the sentence.
    """

    description: str
    evidence: Evidence
    lifts: bool = False


# ── sealed parts ──────────────────────────────────────────────────────────────────────────────────────────────────────


class MessageBody(Frozen):
    """The sealed part of a message."""

    content: str


MEMORY_PART: Final = "memory"
"""The name of the body part that holds a `MemoryBody`."""


class MemoryBody(Claim):
    """The sealed part of a memory version (or of a held candidate)."""

    evidence: tuple[Evidence, ...]
    assertion: Assertion
    sensitivity: str | None = None
    explicit: bool = False
    said_by: str | None = None


class ItemBody(Frozen):
    """The sealed part of one text of working memory."""

    text: str


class TaskBody(Frozen):
    """The sealed part that says what sort of task it is; tasks of one kind and name are rounds of one another."""

    kind: str
    name: str


class ProposalBody(Frozen):
    """What a message of a task's closing turn proposes to remember; sealed beside it, under its key.

    `rests_on` are the person's own messages it rests on, none where it is what the agent concluded.
    """

    kind: Kind
    key: str | None
    value: str
    scope: str
    importance: Unit
    rests_on: tuple[MessageId, ...] = ()


class SuppressionBody(Frozen):
    """The sealed part of a suppression: what the person said not to remember, in their own words."""

    description: str


class IndexBody(Frozen):
    """What the indexes need, sealed once beside the memory so that a rebuild does not embed again (R71).

    `tag` is HMAC-SHA256 of (scope, key) and `terms` are 63-bit keyed hashes of the tokens, both under the person's
    lookup secret.
    `vector` holds float32 little-endian bytes, base64; `model` names the embedding model and its centring.
    """

    tag: str | None
    terms: tuple[int, ...]
    length: int
    model: str
    vector: str


class VectorBody(Frozen):
    """The sealed part of a vector that another model made later; bytes as in `IndexBody`."""

    vector: str


# ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Event(Frozen):
    """The clear half of an event; `type` and `schema_version` are stored. No class changes without a new version."""

    type: ClassVar[str]
    schema_version: ClassVar[int] = 1


class MessageHead(Frozen):
    """What the envelope says of one message: ids and origin. Its body is the part `message:<message_id>`."""

    message_id: MessageId
    role: Role
    origin: Origin


class TurnFinalized(Event):
    """A turn is over and its messages are stored. `contexts` are the compiled contexts that were injected into it.

    `withheld` are messages that were not stored: one of these contexts held what was forgotten before the turn came.
    `task` is the task that this turn closes: its messages are what was concluded, each with a part
    `proposal:<message_id>` under the same key. `audience` is where it was said, as the credential has it.
    `rests_on` are messages of the person that upkeep made something of: the turn then holds nothing but that, in the
    form of a closing turn, and goes with any of them.
    """

    type = "turn_finalized"
    schema_version: ClassVar[int] = 6
    turn_id: TurnId
    session_id: SessionId
    status: TurnStatus
    messages: tuple[MessageHead, ...]
    contexts: tuple[UUID, ...] = ()
    withheld: tuple[MessageId, ...] = ()
    task: TaskId | None = None
    audience: Audience = PRIVATE
    rests_on: tuple[MessageId, ...] = ()


class CandidateProposed(Event):
    """An extractor proposed a memory; `pointers` say from which words. Thousandths for confidence and importance.

    `features` are the numbers the gates decided by, in thousandths, by name (`worth`, `relevance`, …).
    """

    type = "candidate"
    candidate_id: MemoryId
    turn_id: TurnId
    kind: Kind
    assertion: Assertion
    confidence: int
    importance: int
    pointers: tuple[Evidence, ...]
    features: dict[str, int] = Field(default_factory=dict)


class Accepted(Event):
    """The candidate is now version `version` of memory `memory_id`. `cites` are the messages it rests on.

    `explicit` says that the person asked to remember it: upkeep never ends such a memory (R53). `audience` says which
    readers it is for. `moved` says that the person gave it to other readers than the version before, in the same words.
    """

    type = "accepted"
    schema_version: ClassVar[int] = 6
    candidate_id: MemoryId
    memory_id: MemoryId
    version: int
    turn_id: TurnId
    kind: Kind
    confidence: int
    importance: int
    cites: tuple[MessageId, ...]
    explicit: bool = False
    audience: Audience = PRIVATE
    moved: bool = False


class Superseded(Event):
    """Version `version` stopped being current because of `by_version`."""

    type = "superseded"
    memory_id: MemoryId
    version: int
    by_version: int


class Reinforced(Event):
    """The candidate says again what version `version` says; `explicit` as in `accepted`."""

    type = "reinforced"
    schema_version: ClassVar[int] = 2
    candidate_id: MemoryId
    memory_id: MemoryId
    version: int
    turn_id: TurnId
    explicit: bool = False


class NotWritten(Event):
    """The candidate did not become a memory. Only `held` keeps a sealed body, until `held_until`.

    `repeats` is the memory, or the held candidate, that it says again: whatever hides or forgets that reaches the
    messages of this one too. `audience` says which readers it is for; `confidence` and `importance` are
    the candidate's, in thousandths.
    """

    type = "not_written"
    schema_version: ClassVar[int] = 6
    candidate_id: MemoryId
    turn_id: TurnId
    outcome: Outcome
    gate: str
    reason: str
    kind: Kind
    confidence: int = 0
    importance: int = 0
    cites: tuple[MessageId, ...] = ()
    held_until: datetime | None = None
    repeats: MemoryId | None = None
    audience: Audience = PRIVATE


class Conflicted(Event):
    """These memories contradict each other and nothing says which holds: the person is asked, none is used (R20)."""

    type = "in_conflict"
    memories: tuple[MemoryId, ...]


class Resolved(Event):
    """What was held or in conflict is settled: version `version` of `memory_id` stands, `settled` no longer wait.

    `decision` is the person's (`confirmed`, `chosen`, `refused`; what is refused is tombstoned beside this) or follows
    from a newer statement (`restated`).
    """

    type = "resolved"
    decision: Literal["confirmed", "chosen", "refused", "restated"]
    memory_id: MemoryId
    version: int
    settled: tuple[MemoryId, ...] = ()


class ConsentGiven(Event):
    """The person consents to memories of a sensitive class of R13.8 (`health`, `finance`, …).

    With a `purpose` for readers for that one, and for those it was given for before, alone.
    """

    type = "consent_given"
    schema_version: ClassVar[int] = 2
    sensitivity: str
    purpose: PurposeId | None = None


class ConsentWithdrawn(Event):
    """The person withdraws the consent to a sensitive class: its memories are blind from here on (R22)."""

    type = "consent_withdrawn"
    sensitivity: str


class SuppressionAsked(Event):
    """The person said not to remember something; the sealed part says what. A tombstone on the id lifts it.

    `cites` is the message in which it was said; empty where it was asked for by a call. Who forgets that message lifts
    it, as its words go; who forgets something else that was said there does not.
    """

    type = "suppression_asked"
    schema_version: ClassVar[int] = 2
    suppression_id: MemoryId
    cites: tuple[MessageId, ...] = ()


class PolicyChanged(Event):
    """From here on this policy decides: its canonical JSON, which holds nothing of a person, and the digest of that."""

    type = "policy_changed"
    digest: str
    policy: str


class TurnConsidered(Event):
    """Every turn ends in exactly one: how many candidates met which end, by which extractor, under which policy.

    `fallback` says why `extractor` stood in for the one that was asked. `notes` are counts by name of what the
    extractor left out: `cut` messages read in part, `dropped_<reason>` proposals that no words of the person support.
    """

    type = "turn_considered"
    schema_version: ClassVar[int] = 2
    turn_id: TurnId
    counts: dict[str, int]
    extractor: str
    policy_digest: str
    fallback: str | None = None
    notes: dict[str, int] = Field(default_factory=dict)


class Counted(Frozen):
    """How many memories and messages there were when all of a person or a tenant was forgotten."""

    memories: int = Field(ge=0)
    messages: int = Field(ge=0)


class Tombstoned(Event):
    """Must be forgotten. Names every id that is fenced and every data key whose bodies go.

    `scope` is what was asked for, `target` (a message, a session, a person, a tenant) or `kind` which one it was. Of
    a person or a tenant no ids are named: its own id is fenced, and all that is theirs with it; `counted` says how much
    that was, as far as the read models had followed, None where nobody could count it in time.
    Otherwise `memories` and `messages` are fenced in the same transaction; `keys` are destroyed in the vault; `turns`
    are those whose messages go; `orphaned` are living memories that cited one of these messages and stay, marked
    "source forgotten". `topics` are what is left of what the memories were about: HMAC-SHA256, hex, under the person's
    lookup secret, by which an older message that says it again is known (R41). None where that could not be read.
    """

    type = "tombstoned"
    schema_version: ClassVar[int] = 3
    scope: ForgetScope = "memory"
    target: UUID | None = None
    kind: Kind | None = None
    memories: tuple[MemoryId, ...]
    messages: tuple[MessageId, ...]
    keys: tuple[KeyId, ...]
    turns: tuple[TurnId, ...] = ()
    injected: tuple[TurnId, ...] = ()
    orphaned: tuple[MemoryId, ...] = ()
    topics: tuple[str, ...] | None = None
    counted: Counted | None = None

    @property
    def extent(self) -> Counted | None:
        """How many memories and messages go; None where all of somebody goes, and nobody could count it."""
        return self.counted if self.whole else Counted(memories=len(self.memories), messages=len(self.messages))

    @property
    def whole(self) -> bool:
        """Tell whether all of a person or a tenant goes, of which no ids are named."""
        return self.scope in {"person", "tenant"}


class Suspended(Event):
    """The person set memories aside: nothing is destroyed, and nothing uses them until they are resumed (R22)."""

    type = "suspended"
    memories: tuple[MemoryId, ...]


class Resumed(Event):
    """What was set aside is used again as before."""

    type = "resumed"
    memories: tuple[MemoryId, ...]


class Expired(Event):
    """Is kept no longer, for a reason that nobody had to state.

    `time`: candidates nobody decided about (R13) and messages no living memory cites (R10), when their time was over.
    `capacity`: the least valuable of a kind that was full. `decayed`: what nobody said again or used until it was worth
    nothing (R53). Never what the person asked to remember. The texts of a task that is over are of no more use, which
    is `time` too (R52). Fenced like what a tombstone names; `keys` are destroyed. A body that is missing with this
    event is a stone.
    """

    type = "expired"
    schema_version: ClassVar[int] = 2
    reason: Literal["time", "capacity", "decayed"] = "time"
    memories: tuple[MemoryId, ...]
    messages: tuple[MessageId, ...]
    keys: tuple[KeyId, ...]


class LeaseEnded(Event):
    """These memories may no longer be used as they are: nobody said or confirmed them for as long as their lease is.

    `stale` ones are a hint, the others want an authoritative recheck; no write may rest on either (R34).
    """

    type = "lease_ended"
    memories: tuple[MemoryId, ...]
    freshness: Literal["stale", "require_authoritative_recheck"]
    reason: Literal["lease_over"]


class Verified(Event):
    """The person confirmed that version `version` still holds; its lease begins anew (R14, R34)."""

    type = "verified"
    memory_id: MemoryId
    version: int


class Used(Event):
    """These memories were given to an agent since it was last noted; reads themselves are kept for some days only."""

    type = "used"
    memories: tuple[MemoryId, ...]


class Tiered(Event):
    """The current versions of these memories changed their tier (R53); `sources` are the events that brought them.

    Only two tiers are noted, as only they do something: `cold` memories have no row in the vector index, and are found
    by their words; a `hot` one has it back.
    """

    type = "tiered"
    tier: Literal["hot", "cold"]
    reason: Literal["used", "unused"]
    memories: tuple[MemoryId, ...]
    sources: tuple[EventId, ...]


class Merged(Event):
    """Version `version` of `memory_id` stands for these memories too, as it says the same (R53).

    They keep body and sources and can be separated again. `closeness` is the cosine of the farthest, in thousandths.
    """

    type = "merged"
    memory_id: MemoryId
    version: int
    memories: tuple[MemoryId, ...]
    closeness: int


class Separated(Event):
    """These memories were merged and stand for themselves again; `sources` are the events that brought them."""

    type = "separated"
    memories: tuple[MemoryId, ...]
    sources: tuple[EventId, ...]


class ItemHead(Frozen):
    """What the envelope says of one text of working memory: what it is, and what it rests on.

    The text is the part `item:<item_id>` of the same event, under a key of its own.
    """

    item_id: ItemId
    slot: Slot
    memories: tuple[MemoryId, ...] = ()
    messages: tuple[MessageId, ...] = ()


class TaskStarted(Event):
    """A task begins: goal, constraints and planned steps are its items, in order (R52).

    `series_id` is shared by the rounds of one task, of which this is number `round`; `budget` says how much of what it
    may spend. `audience` says for which readers it was begun, its own task left out.
    """

    type = "task_started"
    schema_version: ClassVar[int] = 3
    task_id: TaskId
    series_id: UUID
    round: int
    budget: dict[str, int]
    expires_at: datetime
    items: tuple[ItemHead, ...]
    audience: Audience = PRIVATE


class TaskStep(Event):
    """A step of the task changed: `step_id` was begun, done, failed or dropped, or `items` are steps planned anew."""

    type = "task_step"
    task_id: TaskId
    change: Literal["planned", "begun", "done", "failed", "dropped"]
    step_id: ItemId | None = None
    items: tuple[ItemHead, ...] = ()


class TaskObserved(Event):
    """The task learned something: key facts, or the reference of a tool's result."""

    type = "task_observed"
    task_id: TaskId
    items: tuple[ItemHead, ...]


class TaskErred(Event):
    """Something went wrong in the task, in a step where one is named."""

    type = "task_error"
    task_id: TaskId
    step_id: ItemId | None = None
    items: tuple[ItemHead, ...] = ()


class TaskSpent(Event):
    """The task spent some of its budget."""

    type = "task_budget"
    task_id: TaskId
    spent: dict[str, int]


class TaskConstraintChanged(Event):
    """A constraint changed and the workflow said so: `was` no longer holds; the new one, if any, is an item.

    Another item is the reason.
    """

    type = "task_constraint_changed"
    task_id: TaskId
    was: ItemId | None = None
    items: tuple[ItemHead, ...]


class TaskCompleted(Event):
    """The task is over. What was concluded is the turn `turn_id`; an `expired` beside this clears the state.

    `way` is a digest of the steps that were done, in order: HMAC-SHA256, hex, under the person's lookup secret. None
    where none were.
    """

    type = "task_completed"
    schema_version: ClassVar[int] = 2
    task_id: TaskId
    outcome: Literal["succeeded", "partial", "failed"]
    turn_id: TurnId
    way: str | None = None


class TaskAbandoned(Event):
    """The task was given up and nothing is concluded; an `expired` beside this clears the state."""

    type = "task_abandoned"
    task_id: TaskId


class TaskExpired(Event):
    """The task was not over in time; an `expired` beside this clears the state."""

    type = "task_expired"
    task_id: TaskId


class SummaryLine(Frozen):
    """What the envelope says of one text of a summary; otherwise like `ItemHead`."""

    item_id: ItemId
    slot: SummarySlot
    memories: tuple[MemoryId, ...] = ()
    messages: tuple[MessageId, ...] = ()


class SummaryWritten(Event):
    """A session has a new summary over its first `turns` turns; an `expired` beside this ends the one before (R51)."""

    type = "summary_written"
    session_id: SessionId
    turns: int
    items: tuple[SummaryLine, ...]
    expires_at: datetime
    writer: str


class SummaryHeld(Event):
    """A new summary did not hold against what it was made of, so the old one stays; counts by reason."""

    type = "summary_held"
    session_id: SessionId
    turns: int
    reasons: dict[str, int]
    writer: str


class SessionConsolidated(Event):
    """A session was over, and what happened in it was proposed for memory, each by a turn of its own (R53).

    `through` is the position of the last turn that was looked at, `proposed` the turns, none where nothing was found.
    """

    type = "session_consolidated"
    session_id: SessionId
    through: Position
    reason: Literal["quiet"]
    proposed: tuple[TurnId, ...]
    writer: str


class Restored(Event):
    """The log begins a new origin here: what lies before is the first `size` events of `origin`, with this root (R44).

    `tombstones` are those of the second place that the backup did not know; they are appended beside this event.
    """

    type = "restored"
    backup_id: UUID
    origin: str
    size: int
    root: str
    taken_at: datetime
    tombstones: int


class Copy(Frozen):
    """A copy that may hold the sealed bytes: a backup, and by when nothing opens it, None if that is past."""

    copy_id: UUID
    made_at: datetime
    keys_die_by: datetime | None


class Embedded(Event):
    """Another model made vectors of memory versions, named by the events that brought these (R54).

    Each is the part `vector:<event id>`, sealed under the key of its version, so that it dies with it.
    """

    type = "embedded"
    model: str
    sources: tuple[EventId, ...]


class LayerFinding(Frozen):
    """What one layer answered: a state of R42 and the evidence it was computed from.

    `checks` are counts by the name of the check, `queries` what each of them asked, without values. `versions` are
    those of the memory that were found, where the layer keeps them; `position` is how far it had followed the log;
    `holders` are the exports that hold it, `copies` the backups.
    """

    layer: str
    state: Literal["absent", "purged", "masked", "drained", "unreclaimed", "not_configured", "cannot_prove", "present"]
    checks: dict[str, int]
    queries: dict[str, str] = {}
    versions: tuple[int, ...] = ()
    holders: tuple[UUID, ...] = ()
    position: int | None = None
    copies: tuple[Copy, ...] = ()
    at: datetime


class ErasureVerified(Event):
    """A signed receipt (R42): `statement` is the signed JSON, `signature` Ed25519 over its UTF-8 bytes, base64.

    First `deletion_propagated`: no read path returns it. Then `deletion_purged`: the bytes are gone too; or the person
    closed as `closed_unproven` what a layer can never prove.
    """

    type = "erasure_verified"
    schema_version: ClassVar[int] = 2
    tombstone: EventId
    decision: Literal["deletion_propagated", "deletion_purged", "closed_unproven"]
    statement: str
    signature: str
    signing_key: str


EVENT_TYPES: dict[tuple[str, int], type[Event]] = {
    (cls.type, cls.schema_version): cls
    for cls in (
        TurnFinalized,
        CandidateProposed,
        Accepted,
        Superseded,
        Reinforced,
        NotWritten,
        Conflicted,
        Resolved,
        ConsentGiven,
        ConsentWithdrawn,
        SuppressionAsked,
        PolicyChanged,
        TurnConsidered,
        Tombstoned,
        Suspended,
        Resumed,
        Expired,
        LeaseEnded,
        Verified,
        Used,
        Tiered,
        Merged,
        Separated,
        Restored,
        Embedded,
        ErasureVerified,
        TaskStarted,
        TaskStep,
        TaskObserved,
        TaskErred,
        TaskSpent,
        TaskConstraintChanged,
        TaskCompleted,
        TaskAbandoned,
        TaskExpired,
        SummaryWritten,
        SummaryHeld,
        SessionConsolidated,
    )
}
