"""Times of steps, summed up the same way in every benchmark."""

import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field


def percentile(ordered: Sequence[float], percent: int) -> float:
    """Return a percentile of sorted numbers by the nearest rank, so always one of them."""
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]


def milliseconds(seconds: float, digits: int = 1) -> float:
    """Return seconds as rounded milliseconds."""
    return round(seconds * 1000, digits)


@dataclass
class Times:
    """Seconds of one kind of step."""

    seconds: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, float]:
        """Return count, median, 95th and 99th percentile (nearest rank) and maximum, in milliseconds."""
        ordered = sorted(self.seconds)
        if not ordered:
            return {"n": 0}
        return {
            "n": len(ordered),
            "p50_ms": milliseconds(percentile(ordered, 50)),
            "p95_ms": milliseconds(percentile(ordered, 95)),
            "p99_ms": milliseconds(percentile(ordered, 99)),
            "max_ms": milliseconds(ordered[-1]),
        }


class Clocks(dict[str, Times]):
    """Times by the name of the step, in the order of first use."""

    async def time(self, name: str, step: Awaitable[object]) -> None:
        """Await a step and note how long it took."""
        begun = time.perf_counter()
        await step
        self.note(name, begun)

    def note(self, name: str, begun: float) -> None:
        """Note the time since `begun`."""
        self.add(name, time.perf_counter() - begun)

    def add(self, name: str, seconds: float) -> None:
        """Note a time."""
        self.setdefault(name, Times()).seconds.append(seconds)

    def summary(self) -> dict[str, dict[str, float]]:
        """Return the summary of each."""
        return {name: times.summary() for name, times in self.items()}
