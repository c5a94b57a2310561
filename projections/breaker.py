"""A circuit breaker: a store that does not answer is left alone for a while, then tried by one of those who ask."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

from events.errors import UnavailableError

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0


class Breaker:
    """Opens at the first failure, for twice as long at each trial that fails; closes at the first answer.

    Whoever asks a store that hangs waits as long as an answer may take: one failure is enough to spare the others that.

    Args:
        name: of the store, for the error.
        clock: seconds that only grow.
    """

    def __init__(self, name: str, clock: Callable[[], float] = monotonic) -> None:
        self._name = name
        self._clock = clock
        self._pause_s = 0.0
        self._until = 0.0
        self._trying = False

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Let a call through and see how it ends; one that is cancelled says nothing of the store.

        Raises:
            UnavailableError: the store did not answer lately, and somebody else tries it or its pause is not over.
        """
        trial = self._pause_s > 0
        if trial and (self._trying or self._clock() < self._until):
            raise UnavailableError(f"{self._name} did not answer lately and is left alone for a moment")
        self._trying = trial
        try:
            yield
        except UnavailableError:
            if trial or not self._pause_s:  # of many that fail together one counts
                self._pause_s = min(LONGEST_PAUSE_S, 2 * self._pause_s) if trial else FIRST_PAUSE_S
                self._until = self._clock() + self._pause_s
            raise
        else:
            self._pause_s = 0.0
        finally:
            if trial:
                self._trying = False
