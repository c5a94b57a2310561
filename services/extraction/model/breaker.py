"""A circuit breaker: an endpoint that keeps failing is left alone for a while, then tried with one turn."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from services.extraction.model.failure import OWN, Fallback, ModelError

_LONGEST = 32


class Breaker:
    """Opens after so many failures in a row; each trial that fails doubles the pause, up to 32 times its length.

    Args:
        after: how many failures in a row open it.
        pause_s: how long it stays open the first time.
        clock: seconds that only grow.
    """

    def __init__(self, after: int, pause_s: float, clock: Callable[[], float] = monotonic) -> None:
        self._after = after
        self._pause_s = pause_s
        self._clock = clock
        self._failures = 0
        self._openings = 0
        self._until = 0.0
        self._trying = False

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Let one turn through and see how it ends; cancelling it says nothing of the endpoint.

        Raises:
            ModelError: it is open.
        """
        trial = self._openings > 0
        if trial and (self._trying or self._clock() < self._until):
            raise ModelError(Fallback.BREAKER_OPEN)
        self._trying = trial
        try:
            yield
        except ModelError as error:
            if error.reason not in OWN:
                self._failed(trial=trial)
            raise
        except Exception:
            self._failed(trial=trial)
            raise
        else:
            self._failures = self._openings = 0
        finally:
            if trial:
                self._trying = False

    def _failed(self, *, trial: bool) -> None:
        self._failures += 1
        if trial or (self._failures >= self._after and not self._openings):
            self._until = self._clock() + self._pause_s * min(_LONGEST, 2**self._openings)
            self._openings += 1
