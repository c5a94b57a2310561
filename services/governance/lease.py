"""Until when a memory may be used as it is (R34)."""

from datetime import datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files

import yaml

from events.model import Frozen, Kind, MemoryBody
from projections.changes import Fact


class Leases(Frozen):
    """How long memories may be used as they are, in days by kind, and by key where that says more; None for ever."""

    kinds: dict[Kind, int | None]
    keys: dict[str, int | None]

    def of(self, kind: Kind, key: str | None) -> timedelta | None:
        """Return how long a memory may be used, None for ever."""
        fitting = (days for pattern, days in self.keys.items() if key and fnmatchcase(key, pattern))
        days = next(fitting, self.kinds[kind])
        return None if days is None else timedelta(days=days)

    @property
    def shortest(self) -> dict[Kind, int]:
        """The shortest lease that a memory of a kind may have, whatever its key; kinds without any are left out."""
        of_keys = [days for days in self.keys.values() if days is not None]
        return {kind: min([days, *of_keys]) for kind, days in self.kinds.items() if days is not None}


@lru_cache(maxsize=1)
def leases() -> Leases:
    """Read the lengths that ship with the program."""
    return Leases.model_validate(yaml.safe_load((files(__package__) / "lease.yaml").read_text("utf-8")))


class Freshness(StrEnum):
    """How a memory may be used."""

    FRESH = "fresh"
    STALE = "stale"
    RECHECK = "require_authoritative_recheck"

    @property
    def may_drive_a_write(self) -> bool:
        """Say whether an action may rest on it."""
        return self is Freshness.FRESH


def freshness(
    kind: Kind,
    key: str | None,
    *,
    verified_at: datetime,
    now: datetime,
    high_risk: bool,
    valid_until: datetime | None = None,
) -> Freshness:
    """Compare the lease, which ends earlier where the memory itself names an end, with now.

    Args:
        kind: says how long the lease is.
        key: says it where it knows better.
        verified_at: when the person last stated or confirmed it.
        now: the present.
        high_risk: whether acting on it wrongly does harm (health, money, safety); then a stale hint is not enough.
        valid_until: until when the person said that it holds.
    """
    lease = leases().of(kind, key)
    ends = [end for end in (valid_until, verified_at + lease if lease is not None else None) if end is not None]
    if not ends or now < min(ends):
        return Freshness.FRESH
    return Freshness.RECHECK if high_risk else Freshness.STALE


def freshness_of(fact: Fact, body: MemoryBody, now: datetime) -> Freshness:
    """Say how a memory may be used now; what belongs to a sensitive class is of high risk."""
    return freshness(
        fact.kind,
        body.key,
        verified_at=fact.verified_at,
        now=now,
        high_risk=body.sensitivity is not None,
        valid_until=body.valid_until,
    )
