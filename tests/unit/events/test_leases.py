"""Data keys leased ahead: who gets them, when, and how long they are kept."""

from uuid import uuid4

import pytest

from events.errors import UnavailableError
from events.leases import AHEAD, Lease, Leases
from events.model import KeyId, Scope, SubjectId, TenantId
from events.recent import Recent


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def read(self) -> float:
        """Say what time it is."""
        return self.now


class Kept:
    """Leases that are written nowhere, for one person."""

    def __init__(self, ahead: int = AHEAD) -> None:
        self.clock = Clock()
        self.scope = Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))
        self.leases = Leases(self._keep, ahead, self.clock.read)
        self.down = False

    async def _keep(self, lease: Lease) -> None:
        if self.down:
            raise UnavailableError(f"{len(lease.wrapped)} keys are not durable")

    async def lease(self, count: int, generation: int = 1) -> set[KeyId]:
        """Lease `count` keys that are all spare; return their ids."""
        wrapped = {KeyId(uuid4()): b"wrapped" for _ in range(count)}
        await self.leases.keep(Lease(self.scope, generation, wrapped), dict(wrapped))
        return set(wrapped)


async def test_a_spare_key_is_given_once() -> None:
    """Of three spare keys two and then the last one are taken, each once; another person gets none."""
    kept = Kept()
    keys = await kept.lease(3)
    other = Scope(tenant_id=kept.scope.tenant_id, subject_id=SubjectId(uuid4()))
    assert kept.leases.take(other, 1, 5) == {}
    first, second = kept.leases.take(kept.scope, 1, 2), kept.leases.take(kept.scope, 1, 5)
    assert (len(first), len(second), first.keys() | second.keys()) == (2, 1, keys)
    assert kept.leases.take(kept.scope, 1, 1) == {}


async def test_spare_keys_of_concurrent_leases_add_up() -> None:
    """Two requests that lease at once leave the spare keys of both."""
    kept = Kept()
    keys = await kept.lease(2) | await kept.lease(3)
    assert kept.leases.take(kept.scope, 1, 9).keys() == keys


async def test_another_generation_takes_none() -> None:
    """What is wrapped under a person's former key is not given to who holds the new one; new leases replace it."""
    kept = Kept()
    await kept.lease(2)
    assert kept.leases.take(kept.scope, 2, 2) == {}
    keys = await kept.lease(1, generation=2)
    assert kept.leases.take(kept.scope, 2, 9).keys() == keys


async def test_only_who_writes_much_leases_ahead() -> None:
    """A turn or two lease nothing ahead; a burst as much as it has leased, up to a bound; after a pause nothing."""
    kept = Kept()
    ahead = []
    for _ in range(13):
        await kept.lease(1 + kept.leases.ahead(kept.scope))
        ahead.append(kept.leases.ahead(kept.scope))
    assert ahead == [0, 0, 0, 0, 0, 0, 0, 8, 17, 35, 71, 128, 128]
    kept.clock.now += 1.5
    assert kept.leases.ahead(kept.scope) == 0


async def test_who_may_lease_nothing_ahead_does_not() -> None:
    """With none allowed no burst leases ahead."""
    kept = Kept(0)
    await kept.lease(100)
    assert kept.leases.ahead(kept.scope) == 0


async def test_keys_that_did_not_become_durable_are_not_spare() -> None:
    """A lease that fails leaves nothing to take."""
    kept = Kept()
    kept.down = True
    with pytest.raises(UnavailableError):
        await kept.lease(3)
    assert kept.leases.take(kept.scope, 1, 3) == {}


async def test_spare_keys_rest_a_minute_at_most() -> None:
    """Who comes after a minute finds none of them."""
    kept = Kept()
    await kept.lease(3)
    kept.clock.now += 61
    assert kept.leases.take(kept.scope, 1, 3) == {}


def test_the_least_recently_used_goes_first() -> None:
    """Of two places the third comer takes the one that was not looked at; what rests is let go when another comes."""
    clock = Clock()
    recent: Recent[str, int] = Recent(2, 60, clock.read)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (1, None, 3)
    clock.now += 61
    recent.put("d", 4)
    assert len(recent) == 1
    recent.drop("d")
    assert recent.get("d") is None
