"""How much of a model may be used in a day, by all and by one tenant; counted by each process for itself."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from events.model import TenantId
from services.extraction.model.failure import Fallback, ModelError


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be used in one day, UTC: calls (each try is one) and tokens in and out together."""

    calls: int
    tokens: int


@dataclass(slots=True)
class _Spent:
    calls: int = 0
    tokens: int = 0


@dataclass(slots=True)
class _Day:
    day: date
    everybody: _Spent = field(default_factory=_Spent)
    tenants: dict[TenantId, _Spent] = field(default_factory=dict)


@dataclass(slots=True)
class Booking:
    """One call: booked with what it may cost at most, settled with what it did cost."""

    _accounts: tuple[_Spent, _Spent]
    tokens: int

    def settle(self, tokens: int) -> None:
        """Put what was used in the place of what was booked."""
        for account in self._accounts:
            account.tokens += tokens - self.tokens
        self.tokens = tokens


class Budget:
    """Books calls before they are made, so that calls side by side cannot pass the limit together.

    Args:
        process: what this process may use in a day.
        tenant: what it may use of that for one tenant.
        now: the time.
    """

    def __init__(
        self, process: Allowance, tenant: Allowance, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._process = process
        self._tenant = tenant
        self._now = now
        self._day = _Day(now().date())

    def book(self, tenant: TenantId, tokens: int) -> Booking:
        """Book one call of at most so many tokens.

        Raises:
            ModelError: the day's allowance does not reach for it.
        """
        if self._day.day != (today := self._now().date()):
            self._day = _Day(today)
        mine = self._day.tenants.setdefault(tenant, _Spent())
        for allowance, spent in ((self._process, self._day.everybody), (self._tenant, mine)):
            if spent.calls + 1 > allowance.calls or spent.tokens + tokens > allowance.tokens:
                raise ModelError(Fallback.BUDGET_SPENT)
        for spent in (self._day.everybody, mine):
            spent.calls += 1
            spent.tokens += tokens
        return Booking((self._day.everybody, mine), tokens)
