"""A forgotten thing comes back only by a message that is later than the wish to forget it (R41)."""

from events.model import Candidate, Outcome
from services.governance.reasons import Reason
from services.governance.sameness import topic_basis
from services.governance.view import Ruling, View, rule


def forgotten(candidate: Candidate, view: View) -> Ruling | None:
    """Hold what an older message says about something forgotten since; it may not even reinforce."""
    return rule(Outcome.HELD, Reason.FORGOTTEN) if topic_basis(candidate) in view.forgotten else None
