"""Without a purpose nothing is stored of a profile (R16)."""

from events.model import Candidate, Kind, Outcome
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule


def purpose(candidate: Candidate, view: View) -> Ruling | None:
    """Reject what would be part of the profile under no declared field, also when it was asked for."""
    declared = candidate.kind is not Kind.PROFILE or (candidate.key or "") in view.policy.profile
    return None if declared else rule(Outcome.REJECTED, Reason.NO_PURPOSE)
