"""What a job of upkeep is: it says who is due, what would happen and why, and does it by events (R53)."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import uuid5

from events.envelope import Command, NewEvent, memory_stream
from events.log import append
from events.model import CommandId, Event, Frozen, MemoryId, MessageId, Scope, SessionId, TaskId, TenantId
from events.postgres import Database, Row

ACTOR = "worker:upkeep"

What = Literal["expire", "use", "note", "cool", "warm", "merge", "consolidate", "forget"]


class Action(Frozen):
    """One thing that a job does to what is kept of a person, and why: a generic word, never content."""

    what: What
    reason: str
    memories: tuple[MemoryId, ...] = ()
    messages: tuple[MessageId, ...] = ()
    tasks: tuple[TaskId, ...] = ()
    summaries: tuple[SessionId, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job would do for one person: the events, under the version of the memory stream it was planned at."""

    job: str
    scope: Scope
    version: int
    actions: tuple[Action, ...]
    events: tuple[Event, ...]

    def counts(self) -> dict[str, int]:
        """Count what is done, by action and reason."""
        counted = Counter[str]()
        for action in self.actions:
            counted[f"{action.what}:{action.reason}"] += sum(
                map(len, (action.memories, action.messages, action.tasks, action.summaries))
            )
        return dict(counted)


class Job(Protocol):
    """Something that is done for one person after the other. Stateless, so a round that dies is simply begun again.

    `due` may name persons for whom there is nothing to do after all; `plan` looks closely.
    """

    @property
    def name(self) -> str:
        """The name in logs and reports."""

    async def due(self, now: datetime) -> list[Scope]:
        """Name the persons who may be due, the most urgent first."""

    async def plan(self, scope: Scope, now: datetime) -> Plan | None:
        """Say what would happen to one person's memory, at most one batch; None where nothing would."""

    async def apply(self, plan: Plan, now: datetime) -> bool:
        """Do it; False where somebody else wrote meanwhile, so that a later round looks again."""


async def commit(database: Database, plan: Plan, now: datetime) -> bool:
    """Append a plan's events in one command; the same plan twice is one command.

    Args:
        database: a pool that may append.
        plan: what to do.
        now: when it happens.
    """
    scope = plan.scope
    about = "|".join(f"{event.type}{event.model_dump_json()}" for event in plan.events)
    command = Command(
        CommandId(uuid5(scope.subject_id, f"{plan.job}|{plan.version}|{about}")),
        scope,
        memory_stream(scope.subject_id),
        plan.version,
        ACTOR,
        tuple(NewEvent(event, now) for event in plan.events),
    )
    async with database.transaction() as connection:
        (answer,) = await append(connection, [command])
    return answer.outcome == "appended"


def fair(scopes: Iterable[Scope]) -> list[Scope]:
    """Let the tenants take turns: the first person of each, then the second of each; each person once."""
    queues: dict[TenantId, deque[Scope]] = defaultdict(deque)
    for scope in dict.fromkeys(scopes):
        queues[scope.tenant_id].append(scope)
    turns: list[Scope] = []
    while queues:
        for tenant in list(queues):
            turns.append(queues[tenant].popleft())
            if not queues[tenant]:
                del queues[tenant]
    return turns


def scopes_of(rows: Iterable[Row]) -> list[Scope]:
    """Read rows of tenant and person."""
    return [Scope(tenant_id=row["tenant_id"], subject_id=row["subject_id"]) for row in rows]
