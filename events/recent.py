"""What was used a moment ago."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values by key, as long as they are in use: the least recently used goes first, and so does one that rests.

    Args:
        most: how many there may be.
        idle_s: how long one may rest, in seconds.
        clock: seconds that only grow.
    """

    def __init__(self, most: int, idle_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._idle_s = idle_s
        self._clock = clock
        self._values: OrderedDict[Key, tuple[float, Value]] = OrderedDict()

    def __len__(self) -> int:
        """Say how many there are."""
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """Return the value of a key that is still here."""
        used, value = self._values.get(key, (0.0, None))
        if value is None or self._clock() - used > self._idle_s:
            return None
        self.put(key, value)
        return value

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, and let go of what has rested too long or is too much."""
        now = self._clock()
        self._values[key] = (now, value)
        self._values.move_to_end(key)
        while len(self._values) > self._most or now - next(iter(self._values.values()))[0] > self._idle_s:
            self._values.popitem(last=False)

    def drop(self, key: Key) -> None:
        """Let go of one."""
        self._values.pop(key, None)
