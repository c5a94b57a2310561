"""Gate 8: sensitive classes wait for consent (R13.8)."""

from events.model import Candidate, Outcome
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule


def sensitivity(candidate: Candidate, view: View) -> Ruling | None:
    """Hold a claim of a sensitive class unless it was asked for or consented to; withdrawn consent outranks asking."""
    if candidate.sensitivity not in view.policy.sensitive:
        return None
    if candidate.sensitivity in view.withdrawn:
        return rule(Outcome.HELD, Reason.CONSENT_WITHDRAWN)
    waits = candidate.sensitivity not in view.consents and not candidate.explicit
    return rule(Outcome.HELD, Reason.NEEDS_CONSENT) if waits else None
