"""How an answer came about (R36): ids, numbers and words of ours, never anything a person said."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from events.model import Frozen, Kind, MemoryId

ReadPath = Literal["context", "search", "list", "memory", "explain", "inbox", "preview"]
RecallPath = Literal["vectors", "keywords", "standing", "recent", "beside"]
Rewriting = Literal["off", "used", "failed"]


class TraceFeatures(Frozen):
    """What the score was made of (services/recall/RANKING.md): all in [0, 1] but the age in days.

    `relevance` is that of the step on the scale of the score.
    """

    relevance: float
    importance: float
    confidence: float
    days: float
    authority: float
    match: float
    risk: float
    stale: bool = False
    in_conflict: bool = False


class TraceStep(Frozen):
    """How far one memory version came.

    `paths` proposed it; `dense` is its cosine with the query and `words` its BM25, with its rank on that path where the
    path proposed it. `relevance` is what both and its neighbours make of it. `fate` is `injected`, or why it did not
    get in. `features`, `score` and `rank` are there for what was ranked, `section` for what a context holds.
    """

    version: int
    kind: Kind
    fate: str
    paths: tuple[RecallPath, ...] = ()
    dense: float | None = None
    dense_rank: int | None = None
    words: float | None = None
    words_rank: int | None = None
    relevance: float = 0.0
    features: TraceFeatures | None = None
    score: float | None = None
    rank: int | None = None
    section: str | None = None


class Trace(Frozen):
    """What a context or search was made under, and what became of each candidate.

    `position` is the log's end at that moment, `version` that of the person's memory, `indexed` the position both
    indexes had reached; `policy` is the digest of the roles. `degraded` names paths that did not answer, `cached` says
    that the candidates came from the recall cache, `more` counts, by fate, the less relevant ones that are not listed.
    """

    model: str
    preset: str
    policy: str
    position: int
    version: int
    indexed: int
    degraded: tuple[str, ...] = ()
    cached: bool = False
    rewriting: Rewriting = "off"
    token_budget: int | None = None
    used_tokens: int | None = None
    steps: tuple[TraceStep, ...] = ()
    more: dict[str, int] = Field(default_factory=dict)


class TracedMemory(TraceStep):
    """A candidate and its id; None where it was forgotten since."""

    memory_id: MemoryId | None


class TraceView(Frozen):
    """One read as it is on record.

    `memories` were given away, in the order of the answer; `forgotten` says that something was that has been forgotten
    since. `turns` are the outside ids of those the answer was injected into. `trace` and `candidates` are there for
    contexts and searches, as long as traces are kept.
    """

    trace_id: UUID
    path: ReadPath
    role: str
    at: datetime
    memories: tuple[MemoryId, ...]
    forgotten: bool
    turns: tuple[str, ...] = ()
    trace: Trace | None = None
    candidates: tuple[TracedMemory, ...] = ()
