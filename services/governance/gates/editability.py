"""Who changes a field of the profile (R16)."""

from events.model import Candidate, Outcome
from services.governance.gates.conflict import rivals
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule


def editability(candidate: Candidate, view: View) -> Ruling | None:
    """Hold what the person says of a field that only a system changes, and a new value that wants confirming.

    What the person says as a correction, or asks to remember, is confirmed by that (R22).
    """
    field = view.policy.profile.get(candidate.key or "")
    if field is None or field.editable == "person" or candidate.said_by is not None:
        return None
    if field.editable == "system":
        return rule(Outcome.HELD, Reason.NOT_EDITABLE)
    said_on_purpose = candidate.correction or candidate.explicit
    return rule(Outcome.HELD, Reason.CHANGE_UNCONFIRMED) if not said_on_purpose and rivals(candidate, view) else None
