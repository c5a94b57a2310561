"""What upkeep thinks a memory is worth, and which tier it belongs to."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from events.model import EventId, Kind, MemoryId, TurnId
from projections.changes import Fact
from services.upkeep.rules import shipped_rules

NOW = datetime(2026, 8, 1, 9, tzinfo=UTC)
RULES = shipped_rules()
SHARE = st.integers(0, 1000)
DAYS = st.integers(0, 3000)
FACT = Fact(
    memory_id=MemoryId(UUID(int=1)),
    version=1,
    status="current",
    event_id=EventId(UUID(int=2)),
    kind=Kind.EPISODE,
    confidence=800,
    importance=500,
    cites=(),
    turn_id=TurnId(UUID(int=3)),
    occurred_at=NOW,
    recorded_at=NOW,
    verified_at=NOW,
)


def after(days: int) -> datetime:
    return NOW + timedelta(days=days)


@given(SHARE, SHARE, st.integers(0, 20), DAYS, DAYS)
def test_worth_only_falls_with_time_and_only_rises_with_what_speaks_for_it(
    importance: int, confidence: int, reinforced: int, days: int, more: int
) -> None:
    """More days never help; more importance, confidence, repetition or a later use never harm; it stays in [0, 1]."""
    fact = replace(FACT, importance=importance, confidence=confidence, reinforced=reinforced)
    worth = RULES.worth_of(fact, after(days))
    assert 0 <= worth <= 1
    assert RULES.worth_of(fact, after(days + more)) <= worth
    better = (
        replace(fact, importance=1000),
        replace(fact, confidence=1000),
        replace(fact, reinforced=reinforced + 1),
        replace(fact, used_at=after(days)),
    )
    assert all(RULES.worth_of(each, after(days)) >= worth for each in better)


@given(st.sampled_from(Kind), DAYS)
def test_what_was_asked_for_never_ends_and_never_cools(kind: Kind, days: int) -> None:
    """Whatever its kind and age."""
    fact = replace(FACT, kind=kind, asked=True, importance=0, confidence=0)
    assert not RULES.has_decayed(fact, after(days))
    assert RULES.tier_of(fact, after(days)) != "cold"


@given(st.sampled_from(sorted(set(Kind) - RULES.decay.keys())), DAYS)
def test_what_holds_until_it_is_revoked_never_decays(kind: Kind, days: int) -> None:
    """Preferences, facts, the profile: they lose rank with age, and cool, but do not end by themselves."""
    assert not RULES.has_decayed(replace(FACT, kind=kind, importance=0, confidence=0), after(days))


def test_an_episode_ends_after_fifteen_months_and_later_if_it_is_used() -> None:
    """Said once with middling importance; a use starts the time again."""
    assert not RULES.has_decayed(FACT, after(450))
    assert RULES.has_decayed(FACT, after(480))
    assert not RULES.has_decayed(replace(FACT, used_at=after(100)), after(480))


def test_the_tiers_follow_age_and_use() -> None:
    """Hot for a month, warm for a year, then cold; a use makes it hot again; formats never cool."""
    preference = replace(FACT, kind=Kind.PREFERENCE)
    assert [RULES.tier_of(preference, after(days)) for days in (29, 31, 364, 366)] == ["hot", "warm", "warm", "cold"]
    assert RULES.tier_of(replace(preference, used_at=after(360)), after(366)) == "hot"
    assert RULES.tier_of(replace(preference, kind=Kind.FORMAT), after(3000)) == "warm"
