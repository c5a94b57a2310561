"""Who may say what is so: each semantic key belongs to the person or to one business system (R14)."""

from events.model import Candidate, Outcome
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule


def authority(candidate: Candidate, view: View) -> Ruling | None:
    """Hold what the person says of a key that a system owns, and what a system says of a key that it does not own."""
    owner = view.owners.get(candidate.key or "")
    if owner == candidate.said_by:
        return None
    return rule(Outcome.HELD, Reason.SYSTEM_OWNS_IT if candidate.said_by is None else Reason.NOT_ITS_KEY)
