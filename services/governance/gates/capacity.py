"""Gate 13: one person has room for so many memories of a kind (R53)."""

from events.model import Candidate, Outcome
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule


def capacity(candidate: Candidate, view: View) -> Ruling | None:
    """Hold one memory too many of its kind, unless it was asked for: nothing is dropped to make room unseen."""
    full = view.counts.get(candidate.kind, 0) >= view.policy.capacity[candidate.kind]
    return rule(Outcome.HELD, Reason.FULL) if full and not candidate.explicit else None
