"""The recall cache (R37, ADR 0016): query vectors and candidates under keyed hashes, in this process's memory only.

What was found is kept under the versions that the person's streams had, read from the log before every look-up: whoever
changes a memory, in whatever process, changes the key, so that nothing stale can be found. It holds ids and numbers;
bodies are opened, consents read and the fence asked for every answer anew.
"""

import hmac
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from hashlib import sha256
from time import monotonic
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter

from events.model import MemoryId, Scope
from services.recall.found import Found, Meant

T = TypeVar("T")
VECTORS: Final = 1000
FOUND: Final = 200


@dataclass(frozen=True, slots=True)
class _Held(Generic[T]):
    scope: Scope
    born: float
    value: T


class Shelf(Generic[T]):
    """A bounded number of values, each for a bounded time; what was used least lately goes first.

    Args:
        most: how many values.
        age_s: how long each is kept.
        clock: seconds that only grow.
        count: told of every look-up whether it found something.
    """

    def __init__(self, most: int, age_s: float, clock: Callable[[], float], count: Callable[[bool], None]) -> None:
        self._most, self._age_s, self._clock, self._count = most, age_s, clock, count
        self._held: OrderedDict[bytes, _Held[T]] = OrderedDict()

    def find(self, key: bytes) -> T | None:
        """Return what is kept under a key."""
        held = self._held.get(key)
        if held is not None and self._clock() - held.born >= self._age_s:
            del self._held[key]
            held = None
        self._count(held is not None)
        if held is None:
            return None
        self._held.move_to_end(key)
        return held.value

    def keep(self, key: bytes, scope: Scope, value: T) -> None:
        """Keep a value of one person."""
        self._held[key] = _Held(scope, self._clock(), value)
        self._held.move_to_end(key)
        self._end()

    def drop(self, scope: Scope) -> None:
        """Drop everything of one person, or with the nil subject of everybody of the tenant."""
        for key in [key for key, held in self._held.items() if _within(held.scope, scope)]:
            del self._held[key]

    def values(self, scope: Scope | None = None) -> list[T]:
        """Return what is kept, of everybody or of one person; with the nil subject, of the tenant."""
        return [held.value for held in self._held.values() if scope is None or _within(held.scope, scope)]

    def _end(self) -> None:
        """End what is too old or too much; the old ones need not be the first, for use moves them back."""
        now = self._clock()
        for key in [key for key, held in self._held.items() if now - held.born >= self._age_s]:
            del self._held[key]
        while len(self._held) > self._most:
            self._held.popitem(last=False)


def _within(owner: Scope, scope: Scope) -> bool:
    return owner == scope or (not scope.subject_id.int and owner.tenant_id == scope.tenant_id)


class RecallCache:
    """What this process found lately.

    Args:
        age_s: how long anything is kept; 0 keeps nothing.
        registry: where hits and misses are counted.
        kept: how many sets of candidates.
        clock: seconds that only grow.
    """

    def __init__(
        self, age_s: float, registry: CollectorRegistry, kept: int = FOUND, clock: Callable[[], float] = monotonic
    ) -> None:
        self.age_s = age_s
        self._secret = os.urandom(32)
        counted = Counter(
            "cenotaph_recall_cache",
            "Look-ups in the recall cache.",
            ("what", "outcome"),
            registry=registry,
        )

        def count(what: str) -> Callable[[bool], None]:
            return lambda hit: counted.labels(what, "hit" if hit else "miss").inc()

        self.vectors: Shelf[Meant] = Shelf(VECTORS, age_s, clock, count("vectors"))
        self.found: Shelf[Found] = Shelf(kept, age_s, clock, count("found"))

    def key(self, *parts: object) -> bytes:
        """Digest what something is kept under, with a secret of this process: HMAC-SHA256 (RFC 2104)."""
        return hmac.digest(self._secret, json.dumps(parts, default=str).encode(), sha256)

    def recall(self, key: bytes) -> Found | None:
        """Return what was found under a key, marked as cached."""
        found = self.found.find(key)
        return None if found is None else replace(found, cached=True)

    def drop(self, scope: Scope) -> None:
        """Forget everything of one person."""
        self.vectors.drop(scope)
        self.found.drop(scope)

    def naming(self, memories: Collection[MemoryId]) -> int:
        """Count the sets of candidates that name one of some memories."""
        wanted = set(memories)
        return sum(any(memory in wanted for memory, _ in found.clues) for found in self.found.values())

    def queries(self, scope: Scope) -> int:
        """Count the vectors of one person's queries."""
        return len(self.vectors.values(scope))
