"""Gate 1: a claim about the person needs the person's own message in a finished turn (R11)."""

from events.model import Candidate, Kind, Origin, Outcome, TurnStatus
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule

_FROM_THE_AGENT = frozenset({Kind.EPISODE, Kind.REFLECTION, Kind.PROCEDURE})


def origin(candidate: Candidate, view: View) -> Ruling | None:
    """Reject what comes neither from the person nor from a business system, and all of a turn not completed."""
    if view.turn.status is not TurnStatus.COMPLETED:
        return rule(Outcome.REJECTED, Reason.TURN_NOT_COMPLETED)
    cited = {pointer.message_id for pointer in candidate.evidence}
    origins = {message.origin for message in view.turn.messages if message.message_id in cited}
    if origins == {Origin.SYSTEM} and candidate.said_by is not None:
        return None
    if origins - {Origin.USER, Origin.ASSISTANT}:
        return rule(Outcome.REJECTED, Reason.NOT_FROM_THE_PERSON)
    if origins == {Origin.ASSISTANT} and candidate.kind not in _FROM_THE_AGENT:
        return rule(Outcome.REJECTED, Reason.AGENT_TEXT_ONLY)
    return None
