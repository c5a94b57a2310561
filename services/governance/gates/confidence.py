"""Gate 10: what is not sure enough waits for the person."""

from events.model import Candidate, Outcome
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule


def confidence(candidate: Candidate, view: View) -> Ruling | None:
    """Hold an unsure claim, reject a very unsure one."""
    limits = view.policy.confidence
    if candidate.confidence < limits.reject:
        return rule(Outcome.REJECTED, Reason.NO_CONFIDENCE)
    if candidate.confidence < limits.hold:
        return rule(Outcome.HELD, Reason.LOW_CONFIDENCE)
    return None
