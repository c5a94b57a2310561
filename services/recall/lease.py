"""Until when a memory may be used as it is (R34)."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from events.model import Kind

LEASE: Final[Mapping[Kind, timedelta | None]] = {
    Kind.PREFERENCE: timedelta(days=180),
    Kind.FACT: timedelta(days=180),
    Kind.FORMAT: timedelta(days=365),
    Kind.PROFILE: timedelta(days=365),
    Kind.GOAL: timedelta(days=90),
    Kind.PROJECT: timedelta(days=30),
    Kind.PLAN: timedelta(days=30),
    Kind.PROCEDURE: timedelta(days=90),
    Kind.EPISODE: None,  # what happened stays true
    Kind.REFLECTION: None,
}


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
    kind: Kind, *, verified_at: datetime, now: datetime, high_risk: bool, valid_until: datetime | None = None
) -> Freshness:
    """Compare the lease, which ends earlier where the memory itself names an end, with now.

    Args:
        kind: says how long the lease is.
        verified_at: when the memory was last stated or confirmed.
        now: the present.
        high_risk: whether acting on it wrongly does harm (health, money, safety); then a stale hint is not enough.
        valid_until: until when the person said that it holds.
    """
    lease = LEASE[kind]
    ends = [end for end in (valid_until, verified_at + lease if lease is not None else None) if end is not None]
    if not ends or now < min(ends):
        return Freshness.FRESH
    return Freshness.RECHECK if high_risk else Freshness.STALE
