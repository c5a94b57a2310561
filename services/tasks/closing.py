"""What is left of a task that is completed: one closing turn whose messages propose what to remember (R11, R52).

An episode with the outcome, the conclusions, and the reflections. The same gates judge them as any other candidate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from events.envelope import Command, DataKey, NewEvent, Part, finalized_command, turns_stream
from events.model import (
    Kind,
    MessageBody,
    MessageHead,
    MessageId,
    Origin,
    ProposalBody,
    Role,
    SessionId,
    TaskBody,
    TurnFinalized,
    TurnId,
    TurnStatus,
)
from projections.sessions import message_part, proposal_part
from projections.task_state import TaskState
from services.governance.folding import plain
from services.governance.secrets import redact
from services.tasks.decide import Found
from services.wire.tasks import Complete

_IMPORTANCE: Final = {"low": 0.5, "medium": 0.7, "high": 0.9}
_EPISODE: Final = 0.6
_CONCLUSION: Final = 0.7


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the closing turn, and what it proposes."""

    content: str
    proposal: ProposalBody


def closing_name(task: str) -> str:
    """Name a task's closing turn by an outside id, from the task's own."""
    return f"task:{task}"


def say(complete: Complete, head: TaskBody, messages: Found, proven: Sequence[str] = ()) -> list[Said]:
    """Write the messages of the closing turn: the episode first, then conclusions, reflections, and a proven procedure.

    Args:
        complete: how the task ended.
        head: what sort of task it is.
        messages: the internal ids of the messages it names.
        proven: the steps of a way that has succeeded often enough; empty where it has not.
    """
    said = list(_said(complete, head.kind, head.name, messages))
    if proven:
        steps = " → ".join(proven)
        key = f"procedure.{plain(head.kind)}.{plain(head.name)}"
        said.append(_one(f"{head.kind} / {head.name}: {steps}", Kind.PROCEDURE, key, _CONCLUSION))
    return said


def _said(complete: Complete, kind: str, name: str, messages: Found) -> Iterator[Said]:
    yield _one(f"{kind} / {name}: {complete.summary} ({complete.outcome})", Kind.EPISODE, "episode", _EPISODE)
    for each in complete.conclusions:
        rests_on = tuple(dict.fromkeys(messages[ref] for ref in each.messages))
        key = each.key or ("episode" if each.kind == "episode" else None)
        yield _one(each.text, Kind(each.kind), key, _CONCLUSION, rests_on=rests_on)
    for lesson in complete.reflections:
        text = f"{lesson.judged_wrong} → {lesson.instead} ({lesson.severity})"
        yield _one(text, Kind.REFLECTION, None, _IMPORTANCE[lesson.severity], scope=f"task:{kind}")


def _one(
    text: str,
    kind: Kind,
    key: str | None,
    importance: float,
    *,
    scope: str = "personal",
    rests_on: tuple[MessageId, ...] = (),
) -> Said:
    content = redact(text).text
    return Said(
        content,
        ProposalBody(kind=kind, key=key, value=content, scope=scope, importance=importance, rests_on=rests_on),
    )


def closing_command(
    own: Command, task: TaskState, turn: TurnId, said: Sequence[Said], keys: Sequence[DataKey]
) -> Command:
    """Seal the closing turn, each message with its proposal under one key, into the one command that stores it.

    Its session is the task itself, so it stands among no conversation's recent turns. What is concluded outlives the
    task, for the readers it was begun for.

    Args:
        own: the command that completes the task, beside which this is appended.
        task: the task.
        turn: the closing turn's id.
        said: its messages.
        keys: one for each of them.
    """
    heads = [MessageHead(message_id=MessageId(uuid4()), role=Role.ASSISTANT, origin=Origin.ASSISTANT) for _ in said]
    event = TurnFinalized(
        turn_id=turn,
        session_id=SessionId(task.task_id),
        status=TurnStatus.COMPLETED,
        messages=tuple(heads),
        task=task.task_id,
        audience=task.audience,
    )
    parts = [
        part
        for head, each, key in zip(heads, said, keys, strict=True)
        for part in (
            Part(message_part(head.message_id), MessageBody(content=each.content), key),
            Part(proposal_part(head.message_id), each.proposal, key),
        )
    ]
    new = NewEvent(event, own.events[0].occurred_at, tuple(parts))
    stream = turns_stream(own.scope.subject_id)
    return Command(finalized_command(turn), own.scope, stream, None, own.actor, (new,))
