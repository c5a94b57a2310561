"""The recall cache is bounded, forgets by person, and its keys tell everything apart."""

from uuid import uuid4

import pytest
from prometheus_client import CollectorRegistry

from events.model import Scope, SubjectId, TenantId
from services.recall.cache import RecallCache, Shelf


def person() -> Scope:
    """Make a person."""
    return Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))


class Clock:
    """Seconds a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Start at nought."""
    return Clock()


def test_what_was_used_least_lately_goes_first(clock: Clock) -> None:
    """Never more than the bound; a look-up counts as use."""
    shelf: Shelf[int] = Shelf(2, 60, clock, lambda _: None)
    scope = person()
    shelf.keep(b"a", scope, 1)
    shelf.keep(b"b", scope, 2)
    assert shelf.find(b"a") == 1
    shelf.keep(b"c", scope, 3)
    assert [shelf.find(key) for key in (b"a", b"b", b"c")] == [1, None, 3]


def test_nothing_outlives_its_age(clock: Clock) -> None:
    """Use does not make it younger, and what nobody asks for goes with the next thing kept."""
    shelf: Shelf[int] = Shelf(9, 60, clock, lambda _: None)
    scope = person()
    shelf.keep(b"a", scope, 1)
    clock.now = 59
    assert shelf.find(b"a") == 1
    assert shelf.values(scope) == [1]
    clock.now = 60
    shelf.keep(b"b", scope, 2)
    assert shelf.values(scope) == shelf.values() == [2]
    assert shelf.find(b"a") is None


def test_an_age_of_nought_keeps_nothing(clock: Clock) -> None:
    """The setting 0 switches the cache off."""
    shelf: Shelf[int] = Shelf(9, 0, clock, lambda _: None)
    shelf.keep(b"a", person(), 1)
    assert shelf.find(b"a") is None


def test_one_person_is_dropped_alone(clock: Clock) -> None:
    """What other people have stays."""
    shelf: Shelf[int] = Shelf(9, 60, clock, lambda _: None)
    mine, yours = person(), person()
    shelf.keep(b"a", mine, 1)
    shelf.keep(b"b", yours, 2)
    shelf.drop(mine)
    assert [shelf.find(key) for key in (b"a", b"b")] == [None, 2]


def test_keys_tell_every_part_apart_and_no_other_process_knows_them() -> None:
    """Neither a shifted border between two parts nor a lone surrogate makes two keys one."""
    cache, other = RecallCache(60, CollectorRegistry()), RecallCache(60, CollectorRegistry())
    keys = [
        ("a", "bc"),
        ("ab", "c"),
        ("abc",),
        ("a", "bc", None),
        ("a", "bc", 1),
        ("a", "bc", "1"),
        ("\ud800",),
        ("?",),
    ]
    assert len({cache.key(*each) for each in keys}) == len(keys)
    assert cache.key("a") == cache.key("a") != other.key("a")


def test_hits_and_misses_are_counted() -> None:
    """By what was looked up, without a word of it."""
    registry = CollectorRegistry()
    cache = RecallCache(60, registry)
    assert cache.recall(cache.key("我住在哪里")) is None

    def count(outcome: str) -> float | None:
        return registry.get_sample_value("cenotaph_recall_cache_total", {"what": "found", "outcome": outcome})

    assert (count("miss"), count("hit")) == (1, None)
