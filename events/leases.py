"""Data keys are leased in blocks: a person who needs keys again and again finds some that are durable already.

What is kept between requests is wrapped, as it is in the vault; only the keyring of a request opens it (R4). A key
that was leased and never used has sealed nothing, so nothing is lost with it.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from events.model import KeyId, Scope
from events.recent import Recent

_PEOPLE, _IDLE_S = 1024, 60.0
_BURST_S = 1.0  # leases that follow each other faster are one burst
_BURST = 8  # keys leased in a burst before any are leased ahead: a turn and what is kept of it are no burst

AHEAD = 128
"""The most keys leased ahead at once."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Wrapped data keys, to be made durable under one generation of a person's key."""

    scope: Scope
    generation: int
    wrapped: dict[KeyId, bytes] = field(repr=False)


KeepKeys = Callable[[Lease], Awaitable[None]]
"""Makes a lease durable; a foreign key is violated where that generation of the person's key is gone."""


@dataclass(slots=True)
class _Block:
    """What is left of a person's last leases, when the last one was made and how many keys its burst had."""

    leased_at: float
    burst: int
    generation: int
    spare: dict[KeyId, bytes] = field(repr=False)


class Leases:
    """Makes data keys durable, and keeps those nobody has used yet, wrapped.

    Args:
        keep: makes a lease durable.
        most: the most keys leased ahead at once.
        clock: seconds that only grow.
    """

    def __init__(self, keep: KeepKeys, most: int = AHEAD, clock: Callable[[], float] = time.monotonic) -> None:
        self._keep = keep
        self._most = most
        self._clock = clock
        self._blocks: Recent[Scope, _Block] = Recent(_PEOPLE, _IDLE_S, clock)

    def take(self, scope: Scope, generation: int, count: int) -> dict[KeyId, bytes]:
        """Take keys nobody has used, at most `count`, wrapped under one generation of the person's key."""
        block = self._blocks.get(scope)
        if block is None or block.generation != generation:
            return {}
        return dict(block.spare.popitem() for _ in range(min(count, len(block.spare))))

    def ahead(self, scope: Scope) -> int:
        """Say how many keys to lease beside those that are needed now: in a burst no more than it has leased so far."""
        burst = self._burst(scope)
        return min(burst, self._most) if burst >= _BURST else 0

    async def keep(self, lease: Lease, spare: dict[KeyId, bytes]) -> None:
        """Make a lease durable; those of its keys that are not needed now are there to be taken afterwards."""
        await self._keep(lease)
        burst = self._burst(lease.scope) + len(lease.wrapped)
        block = self._blocks.get(lease.scope)
        if block is not None and block.generation == lease.generation:
            spare = block.spare | spare
        self._blocks.put(lease.scope, _Block(self._clock(), burst, lease.generation, spare))

    def _burst(self, scope: Scope) -> int:
        """Count the keys leased in the burst that goes on, 0 where none does."""
        block = self._blocks.get(scope)
        return 0 if block is None or self._clock() - block.leased_at > _BURST_S else block.burst
