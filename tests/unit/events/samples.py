"""One event of every type with its body; `python -m tests.unit.events.samples` writes missing golden files.

A golden file is never written twice: what was stored once must be readable for ever (R7).
"""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import orjson
from pydantic import BaseModel

from events import canon
from events.envelope import Command, DataKey, NewEvent, Part, SealedEvent, memory_stream, seal, turns_stream
from events.model import (
    EVENT_TYPES,
    Accepted,
    Assertion,
    AssistantId,
    Audience,
    CandidateProposed,
    CommandId,
    Conflicted,
    ConsentGiven,
    ConsentWithdrawn,
    Counted,
    Embedded,
    ErasureVerified,
    Event,
    EventId,
    Evidence,
    Expired,
    IndexBody,
    ItemBody,
    ItemHead,
    ItemId,
    KeyId,
    Kind,
    LeaseEnded,
    MemoryBody,
    MemoryId,
    Merged,
    MessageBody,
    MessageHead,
    MessageId,
    NotWritten,
    Origin,
    Outcome,
    PolicyChanged,
    Position,
    ProjectId,
    ProposalBody,
    PurposeId,
    Reinforced,
    Resolved,
    Restored,
    Resumed,
    Role,
    Scope,
    Separated,
    SessionConsolidated,
    SessionId,
    Slot,
    SubjectId,
    SummaryHeld,
    SummaryLine,
    SummarySlot,
    SummaryWritten,
    Superseded,
    SuppressionAsked,
    SuppressionBody,
    Suspended,
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
    TenantId,
    Tiered,
    Tombstoned,
    TurnConsidered,
    TurnFinalized,
    TurnId,
    TurnStatus,
    Used,
    VectorBody,
    Verified,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "events"
AT = datetime(2026, 8, 1, 9, 30, 0, 123456, UTC)
RECORDED = datetime(2026, 8, 1, 9, 30, 1, 654321, UTC)


def fixed(number: int) -> UUID:
    """Return a version 4 UUID that is always the same."""
    return UUID(int=number * 0x0101_0101_0101_0101_0101_0101_0101_0101 % 2**128, version=4)


SCOPE = Scope(tenant_id=TenantId(fixed(1)), subject_id=SubjectId(fixed(2)))
KEYS = tuple(DataKey(KeyId(fixed(90 + n)), bytes([n]) * 32) for n in range(3))
TURN, MEMORY, CANDIDATE = TurnId(fixed(3)), MemoryId(fixed(4)), MemoryId(fixed(5))
ASKED, ANSWERED = MessageId(fixed(6)), MessageId(fixed(7))
POINTER = Evidence(message_id=ASKED, start=4, end=10)
CONTENT = MemoryBody(
    kind=Kind.PREFERENCE,
    key="diet.likes",
    value="北京烤鸭",
    content="喜欢北京烤鸭 (likes Peking duck)",
    evidence=(POINTER,),
    assertion=Assertion.STATED,
    explicit=True,
)
TASK, ITEM = TaskId(fixed(14)), ItemId(fixed(15))
PROJECT = ProjectId(fixed(17))
AUDIENCE = Audience(project=PROJECT, task=TASK, assistant=AssistantId(fixed(18)), purpose=PurposeId(fixed(19)))
HEAD = ItemHead(item_id=ITEM, slot=Slot.FACT, memories=(MEMORY,), messages=(ASKED,))
TEXT = Part(f"item:{ITEM}", ItemBody(text="三楼靠窗 by the window"), KEYS[0])
INDEX = IndexBody(tag="ab" * 32, terms=(1, 2**62), length=2, model="e5", vector=b64encode(bytes(8)).decode())

SAMPLES: tuple[tuple[Event, tuple[Part, ...]], ...] = (
    (
        TurnFinalized(
            turn_id=TURN,
            session_id=SessionId(fixed(8)),
            status=TurnStatus.COMPLETED,
            messages=(
                MessageHead(message_id=ASKED, role=Role.USER, origin=Origin.USER),
                MessageHead(message_id=ANSWERED, role=Role.ASSISTANT, origin=Origin.ASSISTANT),
            ),
            contexts=(fixed(9),),
            withheld=(MessageId(fixed(13)),),
            task=TASK,
            audience=AUDIENCE,
            rests_on=(ASKED,),
        ),
        (
            Part(f"message:{ASKED}", MessageBody(content="请记住：我喜欢北京烤鸭。"), KEYS[0]),
            Part(f"message:{ANSWERED}", MessageBody(content="Noted, Peking duck it is."), KEYS[1]),
            Part(
                f"proposal:{ANSWERED}",
                ProposalBody(
                    kind=Kind.EPISODE,
                    key="episode",
                    value="Peking duck 烤鸭",
                    scope="personal",
                    importance=0.5,
                    rests_on=(ASKED,),
                ),
                KEYS[1],
            ),
        ),
    ),
    (
        CandidateProposed(
            candidate_id=CANDIDATE,
            turn_id=TURN,
            kind=Kind.PREFERENCE,
            assertion=Assertion.STATED,
            confidence=930,
            importance=500,
            pointers=(POINTER,),
            features={"worth": 780},
        ),
        (),
    ),
    (
        Accepted(
            candidate_id=CANDIDATE,
            memory_id=MEMORY,
            version=2,
            turn_id=TURN,
            kind=Kind.PREFERENCE,
            confidence=930,
            importance=500,
            cites=(ASKED,),
            explicit=True,
            audience=AUDIENCE,
            moved=True,
        ),
        (Part("memory", CONTENT, KEYS[2]), Part("index", INDEX, KEYS[2])),
    ),
    (Superseded(memory_id=MEMORY, version=1, by_version=2), ()),
    (Reinforced(candidate_id=CANDIDATE, memory_id=MEMORY, version=2, turn_id=TURN, explicit=True), ()),
    (Conflicted(memories=(MEMORY, CANDIDATE)), ()),
    (Resolved(decision="chosen", memory_id=MEMORY, version=2, settled=(CANDIDATE,)), ()),
    (PolicyChanged(digest="ab" * 32, policy='{"hold_days":7}'), ()),
    (
        Restored(backup_id=fixed(80), origin="cenotaph/log", size=41, root="cd" * 32, taken_at=AT, tombstones=2),
        (),
    ),
    (ConsentGiven(sensitivity="health", purpose=AUDIENCE.purpose), ()),
    (ConsentWithdrawn(sensitivity="health"), ()),
    (
        SuppressionAsked(suppression_id=MEMORY, cites=(ASKED,)),
        (Part("suppression", SuppressionBody(description="我玩什么游戏, what I play"), KEYS[0]),),
    ),
    (
        NotWritten(
            candidate_id=CANDIDATE,
            turn_id=TURN,
            outcome=Outcome.HELD,
            gate="sensitivity",
            reason="sensitive_unconsented",
            kind=Kind.FACT,
            confidence=700,
            importance=400,
            cites=(ASKED,),
            held_until=AT + timedelta(days=7),
            audience=AUDIENCE,
        ),
        (Part("memory", CONTENT, KEYS[2]),),
    ),
    (
        TurnConsidered(
            turn_id=TURN,
            counts={"accepted": 1, "held": 1},
            extractor="rules/1",
            policy_digest="0123456789abcdef",
            fallback="too_slow",
            notes={"cut": 1},
        ),
        (),
    ),
    (
        Tombstoned(
            memories=(MEMORY,),
            messages=(ASKED, ANSWERED),
            keys=tuple(key.key_id for key in KEYS),
            turns=(TURN,),
            injected=(TurnId(fixed(10)),),
            orphaned=(MemoryId(fixed(11)),),
            topics=("cd" * 32,),
            scope="session",
            target=fixed(12),
            kind=Kind.FACT,
            counted=Counted(memories=3, messages=5),
        ),
        (),
    ),
    (Suspended(memories=(MEMORY,)), ()),
    (Resumed(memories=(MEMORY,)), ()),
    (
        Expired(
            reason="capacity",
            memories=(CANDIDATE,),
            messages=(ASKED, ANSWERED),
            keys=tuple(key.key_id for key in KEYS),
        ),
        (),
    ),
    (LeaseEnded(memories=(MEMORY,), freshness="stale", reason="lease_over"), ()),
    (Verified(memory_id=MEMORY, version=2), ()),
    (Used(memories=(MEMORY,)), ()),
    (Merged(memory_id=MEMORY, version=2, memories=(CANDIDATE,), closeness=970), ()),
    (Separated(memories=(CANDIDATE,), sources=(EventId(fixed(14)),)), ()),
    (
        Embedded(model="use-multilingual-3", sources=(EventId(fixed(14)),)),
        (Part(f"vector:{fixed(14)}", VectorBody(vector=b64encode(bytes(8)).decode()), KEYS[2]),),
    ),
    (Tiered(tier="cold", reason="unused", memories=(MEMORY,), sources=(EventId(fixed(14)),)), ()),
    (
        ErasureVerified(
            tombstone=EventId(fixed(12)),
            decision="deletion_propagated",
            statement='{"decision":"deletion_propagated"}',
            signature=b64encode(bytes(64)).decode(),
            signing_key=b64encode(bytes(32)).decode(),
        ),
        (),
    ),
    (
        TaskStarted(
            task_id=TASK,
            series_id=fixed(16),
            round=2,
            budget={"calls": 20},
            expires_at=AT + timedelta(days=1),
            items=(ItemHead(item_id=ITEM, slot=Slot.GOAL),),
            audience=AUDIENCE.beyond_its_task,
        ),
        (TEXT, Part("task", TaskBody(kind="周报 weekly report", name="sales"), KEYS[1])),
    ),
    (TaskStep(task_id=TASK, change="begun", step_id=ITEM, items=(HEAD,)), (TEXT,)),
    (TaskObserved(task_id=TASK, items=(HEAD,)), (TEXT,)),
    (TaskErred(task_id=TASK, step_id=ITEM, items=(HEAD,)), (TEXT,)),
    (TaskSpent(task_id=TASK, spent={"calls": 3}), ()),
    (TaskConstraintChanged(task_id=TASK, was=ITEM, items=(HEAD,)), (TEXT,)),
    (TaskCompleted(task_id=TASK, outcome="partial", turn_id=TURN, way="ef" * 32), ()),
    (TaskAbandoned(task_id=TASK), ()),
    (TaskExpired(task_id=TASK), ()),
    (
        SummaryWritten(
            session_id=SessionId(fixed(8)),
            turns=6,
            items=(SummaryLine(item_id=ITEM, slot=SummarySlot.CONSTRAINT, memories=(MEMORY,), messages=(ASKED,)),),
            expires_at=AT + timedelta(days=30),
            writer="rules/1",
        ),
        (TEXT,),
    ),
    (
        SummaryHeld(session_id=SessionId(fixed(8)), turns=12, reasons={"constraint_vanished": 1}, writer="rules/1"),
        (),
    ),
    (
        SessionConsolidated(
            session_id=SessionId(fixed(8)), through=Position(17), reason="quiet", proposed=(TURN,), writer="rules/1"
        ),
        (),
    ),
)


def sealed(event: Event, parts: tuple[Part, ...], number: int = 20) -> SealedEvent:
    """Seal one sample with nonces of zeros, so that every byte is the same each time."""
    stream = turns_stream if isinstance(event, TurnFinalized) else memory_stream
    command = Command(
        CommandId(fixed(number)),
        SCOPE,
        stream(SCOPE.subject_id),
        0,
        "worker:remember",
        (NewEvent(event, AT, parts),),
    )
    with patch("events.envelope.os.urandom", bytes):
        (one,) = seal(command).events
    return one


def kinds(parts: tuple[Part, ...]) -> dict[str, type[BaseModel]]:
    """Name the class of each kind of sealed part: the part's name up to the colon."""
    return {part.name.partition(":")[0]: type(part.body) for part in parts}


def shape(cls: type[BaseModel]) -> dict[str, Any]:
    """Describe the fields of an event or of a sealed part by its JSON schema without the prose."""
    return {"properties": {}, **_bare(cls.model_json_schema())}


def _bare(node: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(node, dict):
        return {key: _bare(value) for key, value in node.items() if key not in {"description", "title"}}
    return [_bare(each) for each in node] if isinstance(node, list) else node


def document(event: Event, parts: tuple[Part, ...]) -> dict[str, Any]:
    """Write down everything a golden file holds of a sample."""
    one = sealed(event, parts)
    return {
        "ciphertexts": {part.name: part.ciphertext.hex() for part in one.parts},
        "envelope": (one.envelope + canon.trailer(7, RECORDED)).hex(),
        "keys": {str(part.key.key_id): part.key.secret.hex() for part in parts},
        "plaintexts": {part.name: part.body.model_dump_json() for part in parts},
        "schema_version": event.schema_version,
        "parts": {kind: shape(cls) for kind, cls in kinds(parts).items()},
        "shape": shape(type(event)),
        "type": event.type,
    }


def path_of(event_type: str, version: int) -> Path:
    """Name the golden file of a type and version."""
    return GOLDEN / f"{event_type}_v{version}.json"


if __name__ == "__main__":
    for each, its_parts in SAMPLES:
        if not (path := path_of(each.type, each.schema_version)).exists():
            path.write_bytes(orjson.dumps(document(each, its_parts), option=orjson.OPT_INDENT_2) + b"\n")
    missing = [f"{name} v{version}" for name, version in EVENT_TYPES if not path_of(name, version).exists()]
    raise SystemExit(f"no sample for: {', '.join(missing)}" if missing else 0)
