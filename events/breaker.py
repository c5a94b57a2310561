"""A circuit breaker: what keeps failing is left alone for a while, then tried once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

_LONGEST = 32


class Breaker:
    """Opens after so many failures in a row; each trial that fails doubles the pause, up to 32 times its length.

    Args:
        after: how many failures in a row open it.
        pause_s: how long it stays open the first time.
        clock: seconds that only grow.
        opened: makes what is raised while it is open.
        ours: says of an error that it is no failure of the other side.
    """

    def __init__(
        self,
        after: int,
        pause_s: float,
        clock: Callable[[], float] = monotonic,
        *,
        opened: Callable[[], Exception],
        ours: Callable[[Exception], bool] = lambda _: False,
    ) -> None:
        self._after = after
        self._pause_s = pause_s
        self._clock = clock
        self._opened = opened
        self._ours = ours
        self._failures = 0
        self._openings = 0
        self._until = 0.0
        self._trying = False

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Let one attempt through and see how it ends; cancelling it says nothing of the other side.

        Raises:
            Exception: what `opened` makes, while it is open.
        """
        trial = self._openings > 0
        if trial and (self._trying or self._clock() < self._until):
            raise self._opened()
        self._trying = trial
        try:
            yield
        except Exception as error:
            if not self._ours(error):
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
