"""A store that does not answer is asked by one of many, and by all again once it answers."""

from collections.abc import Callable

import pytest

from events.breaker import Breaker
from events.errors import UnavailableError

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 32 * FIRST_PAUSE_S


class Clock:
    """Seconds a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def of_a_store(clock: Clock) -> Breaker:
    """Make one that opens at the first silence, and for nothing else."""
    return Breaker(
        1,
        FIRST_PAUSE_S,
        clock,
        opened=lambda: UnavailableError("left alone"),
        ours=lambda error: not isinstance(error, UnavailableError),
    )


def fails(breaker: Breaker, meanwhile: Callable[[], object] = lambda: True) -> None:
    """Make a call that the store does not answer; what happens meanwhile must hold."""

    def call() -> None:
        with breaker.guard():
            assert meanwhile()
            raise UnavailableError("silent")

    with pytest.raises(UnavailableError, match="silent"):
        call()


def spared(breaker: Breaker) -> bool:
    """Say whether the next call never reaches the store; it is answered if it does."""
    try:
        with breaker.guard():
            return False
    except UnavailableError:
        return True


def test_after_a_failure_nobody_waits_until_the_pause_is_over() -> None:
    """Then the first one tries, and its success lets everybody through."""
    clock = Clock()
    breaker = of_a_store(clock)
    assert not spared(breaker)
    fails(breaker)
    assert spared(breaker)
    clock.now = FIRST_PAUSE_S
    assert [spared(breaker) for _ in range(3)] == [False] * 3


def test_one_tries_at_a_time_and_the_pause_doubles_up_to_its_bound() -> None:
    """While somebody tries, the others are spared; every trial that fails waits longer for the next."""
    clock = Clock()
    breaker = of_a_store(clock)
    fails(breaker)
    pauses, pause = [], FIRST_PAUSE_S
    for _ in range(8):
        clock.now += pause
        fails(breaker, meanwhile=lambda: spared(breaker))
        begun = clock.now
        pause = min(LONGEST_PAUSE_S, 2 * pause)
        clock.now = begun + pause - 0.01
        assert spared(breaker)
        clock.now = begun
        pauses.append(pause)
    assert pauses[-1] == LONGEST_PAUSE_S


def test_of_many_that_fail_together_one_counts() -> None:
    """Calls that were under way when the first one failed do not lengthen the pause."""
    clock = Clock()
    breaker = of_a_store(clock)

    def another_fails() -> bool:
        fails(breaker)
        return True

    fails(breaker, meanwhile=another_fails)
    clock.now = FIRST_PAUSE_S
    assert not spared(breaker)


def test_another_error_says_nothing_of_the_store() -> None:
    """A mistake of the caller opens nothing, and ends no trial for good."""
    clock = Clock()
    breaker = of_a_store(clock)
    with pytest.raises(ValueError, match="mine"), breaker.guard():
        raise ValueError("mine")
    assert not spared(breaker)
