"""The state of a task, and the changes a workflow makes to it (R52)."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from events.model import Frozen, ItemId, MemoryId
from services.wire.request import Request
from services.wire.text import OutsideId, Query

DAY_S = 24 * 3600
Budget = Literal["steps", "calls", "tokens", "seconds", "cents"]
Amount = Annotated[int, Field(ge=0, le=2**53, strict=True)]
Version = Annotated[int, Field(ge=0, le=2**53, strict=True)]
Texts = Annotated[tuple[Query, ...], Field(max_length=50)]


class MessageRef(Request):
    """A message, by the caller's ids."""

    turn_id: OutsideId
    message_id: OutsideId


class FactIn(Request):
    """A key fact, and what it rests on: forgetting any of that forgets the fact."""

    text: Query
    memories: Annotated[tuple[UUID, ...], Field(max_length=20)] = ()
    messages: Annotated[tuple[MessageRef, ...], Field(max_length=20)] = ()


class ConclusionIn(Request):
    """Something to remember beyond the task; without messages of the person it can only be an episode."""

    text: Query
    kind: Literal["preference", "fact", "goal", "project", "plan", "episode"] = "episode"
    key: OutsideId | None = None
    messages: Annotated[tuple[MessageRef, ...], Field(max_length=20)] = ()


class ReflectionIn(Request):
    """What was judged wrong, how bad that was, and what to do instead the next time."""

    judged_wrong: Query
    severity: Literal["low", "medium", "high"]
    instead: Query


class PlanSteps(Request):
    """Plan more steps, behind those that are planned."""

    do: Literal["plan_steps"]
    steps: Annotated[Texts, Field(min_length=1)]


class BeginStep(Request):
    """Begin a step. Done before anything is done, so that whoever takes over knows that it may have happened."""

    do: Literal["begin_step"]
    step_id: UUID


class FinishStep(Request):
    """Say how a step ended. A failed one may be begun again."""

    do: Literal["finish_step"]
    step_id: UUID
    outcome: Literal["done", "failed", "dropped"] = "done"


class Observe(Request):
    """Note key facts, or where the last result of a tool lies."""

    do: Literal["observe"]
    facts: Annotated[tuple[FactIn, ...], Field(max_length=50)] = ()
    result: FactIn | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "Observe":
        if not self.facts and self.result is None:
            raise PydanticCustomError("blank", "has neither facts nor a result")
        return self


class ReportError(Request):
    """Count an error."""

    do: Literal["report_error"]
    text: Query
    step_id: UUID | None = None


class Spend(Request):
    """Take something off the budget."""

    do: Literal["spend"]
    spent: Annotated[dict[Budget, Amount], Field(min_length=1)]


class ChangeConstraint(Request):
    """Declare that a constraint changed: one more (`becomes`), one less (`was`), or another in its place."""

    do: Literal["change_constraint"]
    was: UUID | None = None
    becomes: Query | None = None
    reason: Query

    @model_validator(mode="after")
    def _changes_something(self) -> "ChangeConstraint":
        if self.was is None and self.becomes is None:
            raise PydanticCustomError("blank", "names neither the constraint that was nor the one it becomes")
        return self


class Complete(Request):
    """End the task: what came of it is proposed for memory, then the state is cleared."""

    do: Literal["complete"]
    outcome: Literal["succeeded", "partial", "failed"]
    summary: Query
    conclusions: Annotated[tuple[ConclusionIn, ...], Field(max_length=20)] = ()
    reflections: Annotated[tuple[ReflectionIn, ...], Field(max_length=20)] = ()


class Abandon(Request):
    """Give the task up: nothing is concluded, the state is cleared."""

    do: Literal["abandon"]


Going = PlanSteps | BeginStep | FinishStep | Observe | ReportError | Spend | ChangeConstraint
"""Changes after which the task goes on."""

Change = Going | Complete | Abandon


class TaskStart(Request):
    """Begin a task. Tasks of one type and name are rounds of each other, and what was learned is handed on."""

    command_id: OutsideId
    task_id: OutsideId
    type: OutsideId
    name: OutsideId
    goal: Query
    constraints: Texts = ()
    steps: Texts = ()
    budget: dict[Budget, Amount] = Field(default_factory=dict)
    expires_in_s: Annotated[int, Field(ge=60, le=30 * DAY_S, strict=True)] = DAY_S


class TaskChange(Request):
    """One change of a task. The same `command_id` again changes nothing more; with another body it is refused.

    `expected_version` is the version the workflow has seen. `constraints`, where given, are all that the workflow holds
    itself to: others than those of the state are an undeclared change, which is refused.
    """

    command_id: OutsideId
    expected_version: Version
    constraints: Texts | None = None
    change: Annotated[Change, Field(discriminator="do")]


class ItemView(Frozen):
    """One text of a task; None where it was forgotten or may not be read."""

    id: ItemId
    text: str | None
    memories: tuple[MemoryId, ...] = ()


class LessonView(Frozen):
    """What an earlier round learned, as it is remembered now."""

    memory_id: MemoryId
    version: int
    text: str


class TaskView(Frozen):
    """The state of a task: enough to go on with it. A task that is over has no texts.

    `known` says that the command had been carried out before. `turn_id` is the closing turn of a completed task:
    `GET /v1/turns/{turn_id}` says what of it was kept.
    """

    task_id: str
    type: str | None
    name: str | None
    round: int
    status: Literal["running", "succeeded", "partial", "failed", "abandoned", "expired"]
    version: int
    goal: ItemView | None
    constraints: tuple[ItemView, ...]
    current_step: ItemView | None
    completed: tuple[ItemView, ...]
    pending: tuple[ItemView, ...]
    key_facts: tuple[ItemView, ...]
    last_result: ItemView | None
    errors: int
    last_error: ItemView | None
    budget_left: dict[str, int]
    started_at: datetime
    expires_at: datetime
    lessons: tuple[LessonView, ...] = ()
    turn_id: str | None = None
    known: bool = False


class TaskSummary(Frozen):
    """A task in a list, without its texts."""

    task_id: str
    round: int
    status: Literal["running", "succeeded", "partial", "failed", "abandoned", "expired"]
    version: int
    errors: int
    started_at: datetime
    expires_at: datetime


class TaskPage(Frozen):
    """Tasks, newest first."""

    tasks: tuple[TaskSummary, ...]
    next_cursor: str | None = None
