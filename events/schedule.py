"""When keys roll, and by when copies of a key that was destroyed are useless (`keys_die_by`, R4)."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final

SETTLE: Final = timedelta(minutes=10)
"""What may pass between the signature and the end of the last key, clocks that differ included."""
ALLOWANCE: Final = timedelta(hours=1)
"""How long a roll that began on time may take until the old epoch is destroyed."""

_ANCHOR = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Rolls at a time of day (UTC) and every `every` from there on.

    Args:
        at: the time of day.
        every: the time between two rolls.
        copies: for how long copies of the provider's secrets are kept elsewhere.
    """

    at: time
    every: timedelta
    copies: timedelta = timedelta()

    def latest(self, moment: datetime) -> datetime:
        """Return the last time at or before a moment at which keys were to roll."""
        first = _ANCHOR + timedelta(hours=self.at.hour, minutes=self.at.minute)
        return first + (moment - first) // self.every * self.every

    def after(self, moment: datetime) -> datetime:
        """Return the first time after a moment at which keys roll."""
        return self.latest(moment) + self.every

    def keys_die_by(self, moment: datetime) -> datetime:
        """Say by when no copy made before the roll opens a key that is destroyed at a moment.

        That is the next roll which surely begins after it, its allowance, and the life of copies of the epoch's secret.
        """
        return self.after(moment + SETTLE) + ALLOWANCE + self.copies
