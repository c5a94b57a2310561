"""Tasks of a person of dice, as the deciders could have written them; and the naive oracle of what they come to."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

from events.envelope import NewEvent, Part, StoredEvent
from events.keyring import Keyring
from events.model import (
    Event,
    Expired,
    ItemBody,
    ItemHead,
    ItemId,
    KeyId,
    MemoryId,
    MessageId,
    SessionId,
    Slot,
    SummaryLine,
    SummarySlot,
    SummaryWritten,
    TaskAbandoned,
    TaskBody,
    TaskCompleted,
    TaskConstraintChanged,
    TaskErred,
    TaskExpired,
    TaskId,
    TaskObserved,
    TaskSpent,
    TaskStarted,
    TaskStep,
    TurnId,
)

NOW = datetime(2026, 8, 1, 9, tzinfo=UTC)


@dataclass
class Working:
    """One running task: its texts by what they are, the keys of all, and what each rests on."""

    task_id: TaskId
    steps: list[ItemId] = field(default_factory=list)
    constraints: list[ItemId] = field(default_factory=list)
    keys: list[KeyId] = field(default_factory=list)


@dataclass
class Desk:
    """The tasks of one person."""

    keyring: Keyring
    random: Random
    tasks: list[Working] = field(default_factory=list)
    every: list[TaskId] = field(default_factory=list)
    sessions: dict[SessionId, list[KeyId]] = field(default_factory=dict)
    resting: dict[KeyId, set[UUID]] = field(default_factory=dict)

    def resting_on(self, gone: Iterable[UUID]) -> list[KeyId]:
        """Name the keys of texts that rest on what goes."""
        return [key for key, rests_on in self.resting.items() if rests_on & set(gone)]

    async def start(self) -> tuple[TaskId, list[NewEvent]]:
        """Begin a task of a goal, a constraint and two steps."""
        task = Working(TaskId(uuid4()))
        slots = (Slot.GOAL, Slot.CONSTRAINT, Slot.STEP, Slot.STEP)
        heads, parts = await self._items(task, slots, (), ())
        (key,) = await self.keyring.lease(1)
        task.keys.append(key.key_id)
        task.constraints, task.steps = [heads[1].item_id], [head.item_id for head in heads[2:]]
        event = TaskStarted(
            task_id=task.task_id,
            series_id=uuid4(),
            round=self.random.randint(1, 3),
            budget={"calls": 9},
            expires_at=NOW + timedelta(days=1),
            items=heads,
        )
        self.tasks.append(task)
        self.every.append(task.task_id)
        head = Part("task", TaskBody(kind="行程 trip", name="杭州"), key)
        return task.task_id, [NewEvent(event, NOW, (*parts, head))]

    async def work(
        self, memories: tuple[MemoryId, ...], messages: tuple[MessageId, ...]
    ) -> tuple[TaskId, list[NewEvent]]:
        """Let something happen in a running task; it may rest on what is given."""
        task, dice = self.random.choice(self.tasks), self.random
        change = dice.choice(("begun", "done", "failed", "dropped", "planned", "fact", "error", "spent", "constraint"))
        event: Event
        parts: tuple[Part, ...] = ()
        if change == "planned":
            heads, parts = await self._items(task, (Slot.STEP,), (), ())
            task.steps.append(heads[0].item_id)
            event = TaskStep(task_id=task.task_id, change="planned", items=heads)
        elif change == "fact":
            heads, parts = await self._items(task, (Slot.FACT, Slot.RESULT), memories, messages)
            event = TaskObserved(task_id=task.task_id, items=heads)
        elif change == "error":
            heads, parts = await self._items(task, (Slot.ERROR,), (), ())
            event = TaskErred(task_id=task.task_id, step_id=dice.choice(task.steps), items=heads)
        elif change == "spent":
            event = TaskSpent(task_id=task.task_id, spent={"calls": dice.randint(0, 3)})
        elif change == "constraint":
            heads, parts = await self._items(task, (Slot.CONSTRAINT, Slot.REASON), (), ())
            was = task.constraints.pop() if task.constraints else None
            task.constraints.append(heads[0].item_id)
            event = TaskConstraintChanged(task_id=task.task_id, was=was, items=heads)
        else:
            event = TaskStep.model_validate(
                {"task_id": task.task_id, "change": change, "step_id": dice.choice(task.steps)}
            )
        return task.task_id, [NewEvent(event, NOW, parts)]

    async def end(self) -> tuple[TaskId, list[NewEvent], tuple[KeyId, ...]]:
        """End a running task in one of the ways there are; its texts expire beside that."""
        task = self.tasks.pop(self.random.randrange(len(self.tasks)))
        ended: list[Event] = [
            TaskCompleted(task_id=task.task_id, outcome="partial", turn_id=TurnId(uuid4())),
            TaskAbandoned(task_id=task.task_id),
            TaskExpired(task_id=task.task_id),
        ]
        cleared = Expired(memories=(), messages=(), keys=tuple(task.keys))
        return task.task_id, [NewEvent(self.random.choice(ended), NOW), NewEvent(cleared, NOW)], cleared.keys

    async def sum_up(
        self, session: SessionId, memories: tuple[MemoryId, ...], messages: tuple[MessageId, ...]
    ) -> tuple[SessionId, list[NewEvent], tuple[KeyId, ...]]:
        """Write a summary of this session, or of one that has one; the texts of the one before it expire with that."""
        known = list(self.sessions)
        session = self.random.choice(known) if known and self.random.random() < 0.6 else session
        lines = tuple(
            SummaryLine(item_id=ItemId(uuid4()), slot=slot, memories=memories, messages=messages)
            for slot in self.random.sample(list(SummarySlot), self.random.randint(0, 3))
        )
        keys = await self.keyring.lease(len(lines))
        self.resting |= {key.key_id: {*memories, *messages} for key in keys}
        parts = tuple(
            Part(f"item:{line.item_id}", ItemBody(text="不能超过 3000 / at most"), key)
            for line, key in zip(lines, keys, strict=True)
        )
        written = SummaryWritten(
            session_id=session, turns=6, items=lines, expires_at=NOW + timedelta(days=30), writer="dice"
        )
        old, self.sessions[session] = self.sessions.get(session, []), [key.key_id for key in keys]
        events = [NewEvent(written, NOW, parts)]
        if old:
            events.append(NewEvent(Expired(memories=(), messages=(), keys=tuple(old)), NOW))
        return session, events, tuple(old)

    async def _items(
        self, task: Working, slots: Iterable[Slot], memories: tuple[MemoryId, ...], messages: tuple[MessageId, ...]
    ) -> tuple[tuple[ItemHead, ...], tuple[Part, ...]]:
        heads = tuple(
            ItemHead(item_id=ItemId(uuid4()), slot=slot, memories=memories, messages=messages) for slot in slots
        )
        keys = await self.keyring.lease(len(heads))
        task.keys += [key.key_id for key in keys]
        self.resting |= {key.key_id: {*memories, *messages} for key in keys}
        parts = (
            Part(f"item:{head.item_id}", ItemBody(text="避开花生 / no peanuts"), key)
            for head, key in zip(heads, keys, strict=True)
        )
        return heads, tuple(parts)


# ── the oracle ────────────────────────────────────────────────────────────────────────────────────────────────────────

Tasked = tuple[str, int, int, dict[str, int], dict[UUID, tuple[str, str, bool]]]
ENDS = {"task_abandoned": "abandoned", "task_expired": "expired"}


def tasked(stream: Iterable[StoredEvent], everything: Iterable[StoredEvent]) -> Tasked:
    """Say of one task, from bare envelopes: status, version, errors, budget, and each text: slot, standing, gone."""
    events = list(stream)
    history: list[tuple[str, dict[str, Any]]] = [(each.type, each.document) for each in events]
    fenced = {key for each in everything if each.type in {"tombstoned", "expired"} for key in each.document["keys"]}
    ends = [it["outcome"] if name == "task_completed" else ENDS.get(name) for name, it in history]
    status = next((end for end in ends if end), "running")
    spent = [it["spent"] for name, it in history if name == "task_budget"]
    budget = {name: left - sum(each.get(name, 0) for each in spent) for name, left in history[0][1]["budget"].items()}
    texts = {}
    for each in events if status == "running" else []:
        keys = {part.name: str(part.key_id) for part in each.parts}
        for head in each.document.get("items", ()):
            item = head["item_id"]
            changes = [it["change"] for name, it in history if name == "task_step" and it.get("step_id") == item]
            replaced = any(it.get("was") == item for _, it in history)
            first = "pending" if head["slot"] == "step" else "replaced" if replaced else "stands"
            texts[UUID(item)] = (head["slot"], [first, *changes][-1], keys[f"item:{item}"] in fenced)
    return status, events[-1].version, sum(name == "task_error" for name, _ in history), budget, texts


def summed(stream: Iterable[StoredEvent], everything: Iterable[StoredEvent]) -> dict[UUID, tuple[str, bool]]:
    """Say of the newest summary of a stream, from bare envelopes: each text's slot, and whether it is gone."""
    fenced = {key for each in everything if each.type in {"tombstoned", "expired"} for key in each.document["keys"]}
    newest = [each for each in stream if each.type == "summary_written"][-1]
    keys = {part.name: str(part.key_id) for part in newest.parts}
    return {
        UUID(line["item_id"]): (line["slot"], keys[f"item:{line['item_id']}"] in fenced)
        for line in newest.document["items"]
    }
