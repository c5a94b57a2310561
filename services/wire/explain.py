"""Why a memory is there, or a candidate is not: content-free but for what the memory itself says."""

from datetime import datetime
from typing import Literal

from events.model import Assertion, Frozen, Kind, MemoryId, Unit
from services.wire.memories import MemoryView, Source
from services.wire.profile import FieldRules


class GateVerdict(Frozen):
    """What one gate said, in the order in which gates are asked; the first that objects decides."""

    gate: str
    verdict: Literal["passed", "decided", "not_asked"]
    reason: str | None = None
    meaning: str | None = None


class Judgement(Frozen):
    """How one candidate was judged: by which extractor, under which policy, from which words.

    `features` are the numbers that decided. `policy` is the digest of the policy; `policy_changed` of that digest holds
    it. `fallback` says why `extractor` stood in for a model.
    """

    candidate_id: MemoryId
    outcome: str
    kind: Kind
    assertion: Assertion
    confidence: Unit
    importance: Unit
    features: dict[str, float]
    gates: tuple[GateVerdict, ...]
    extractor: str | None
    fallback: str | None
    policy: str | None
    turn_id: str
    at: datetime
    evidence: tuple[Source, ...]


class Explanation(Frozen):
    """Everything the log says about one memory or candidate.

    `field` is what holds for the field of the profile it belongs to, if it is of one that the reader may see.
    `rivals` are what it is in conflict with; `settled` says how the person, or a newer statement, decided.
    """

    memory_id: MemoryId
    judgements: tuple[Judgement, ...]
    versions: tuple[MemoryView, ...]
    reinforced: int
    rivals: tuple[MemoryId, ...]
    settled: tuple[str, ...]
    forgotten: bool
    field: FieldRules | None = None
