"""The recall cache as a layer: this process's entries go at once, those of others answer nothing and end by age."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Protocol

from events.envelope import StoredEvent
from events.model import LayerFinding, MemoryId, Scope
from services.forgetting.layers import finding
from services.forgetting.question import Question

_QUERIES = {
    "by_id": "entries of this process that name the memory",
    "queries": "vectors of this process of what the person's memory was asked",
    "since_s": "seconds since the tombstone",
    "lives_s": "seconds that an entry of any process and a read before it may live together",
}
_LONGEST_READ_S = 60.0
"""How long a read that began before the tombstone may take until it keeps what it found."""


class Cache(Protocol):
    """What one process found lately, under keys that no reader of a changed memory asks for."""

    @property
    def age_s(self) -> float:
        """How long anything is kept, in every process."""

    def drop(self, scope: Scope) -> None:
        """Forget everything of one person."""

    def naming(self, memories: Collection[MemoryId]) -> int:
        """Count the entries that name one of some memories."""

    def queries(self, scope: Scope) -> int:
        """Count the vectors of what one person's memory was asked."""


class CacheLayer:
    """Drops what this process holds of the person."""

    name: ClassVar[str] = "semantic_cache"

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Drop it."""
        del question
        self._cache.drop(tombstone.scope)


class CacheProbe:
    """Looks for what this process still holds.

    What other processes hold is `masked`: the tombstone raised the version that every look-up names, so none finds it.
    Once the tombstone is older than anything can be, it is `drained`.
    """

    layer: ClassVar[str] = "semantic_cache"

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    async def ask(self, question: Question) -> LayerFinding:
        """Count entries; say how long the tombstone has stood, in seconds, and how long an entry may live."""
        since_s = (datetime.now(UTC) - question.forgotten_at).total_seconds()
        lives_s = self._cache.age_s + _LONGEST_READ_S
        checks = {
            "by_id": self._cache.naming(question.memories),
            "queries": self._cache.queries(question.scope),
            "since_s": int(since_s),
            "lives_s": int(lives_s),
        }
        return finding(self.layer, checks, "drained" if since_s > lives_s else "masked", _QUERIES)

    async def readers(self) -> Sequence[str]:
        """Name what reads it."""
        return ("this process",)
