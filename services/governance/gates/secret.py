"""Gate 3: no secret, a second check behind ingest (R10)."""

from events.model import Candidate, Outcome
from services.governance.reasons import Reason
from services.governance.secrets import has_secret
from services.governance.view import Ruling, View, rule

_MARK = "[secret:"


def secret(candidate: Candidate, view: View) -> Ruling | None:  # noqa: ARG001 - all gates have one shape
    """Reject a claim that holds a secret or is about one that ingest replaced."""
    texts = (candidate.content, candidate.value)
    if any(_MARK in text for text in texts):
        return rule(Outcome.REJECTED, Reason.SECRET_REPLACED)
    if any(has_secret(text) for text in texts):
        return rule(Outcome.REJECTED, Reason.SECRET)
    return None
