"""Gate 8: sensitive classes wait for consent (R13.8)."""

from events.model import Candidate, Outcome
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule


def sensitivity(candidate: Candidate, view: View) -> Ruling | None:
    """Hold a claim of a sensitive class unless it was asked for or consented to."""
    waits = candidate.sensitivity in view.policy.sensitive and candidate.sensitivity not in view.consents
    return rule(Outcome.HELD, Reason.NEEDS_CONSENT) if waits and not candidate.explicit else None
