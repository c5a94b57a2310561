"""Gate 10: what is not sure enough waits for the person."""

from events.model import Candidate, Kind, Origin, Outcome
from services.governance.reasons import Reason
from services.governance.sameness import same_thing, same_value
from services.governance.view import Ruling, View, rule


def confidence(candidate: Candidate, view: View) -> Ruling | None:
    """Hold an unsure claim, and a procedure nobody told us; reject a very unsure one."""
    limits = view.policy.confidence
    if candidate.confidence < limits.reject:
        return rule(Outcome.REJECTED, Reason.NO_CONFIDENCE)
    if candidate.confidence < limits.hold:
        return rule(Outcome.HELD, Reason.LOW_CONFIDENCE)
    if candidate.kind is Kind.PROCEDURE and not _told(candidate, view) and not _kept(candidate, view):
        return rule(Outcome.HELD, Reason.UNCONFIRMED)
    return None


def _told(candidate: Candidate, view: View) -> bool:
    cited = {pointer.message_id for pointer in candidate.evidence}
    return any(message.origin is Origin.USER for message in view.turn.messages if message.message_id in cited)


def _kept(candidate: Candidate, view: View) -> bool:
    """Say whether the person has confirmed this very procedure before."""
    return any(same_thing(candidate, each.claim) and same_value(candidate, each.claim) for each in view.living)
