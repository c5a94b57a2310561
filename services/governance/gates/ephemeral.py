"""Gate 6: what is meant for this once only stays in working memory."""

from events.model import Candidate, Outcome
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule


def ephemeral(candidate: Candidate, view: View) -> Ruling | None:  # noqa: ARG001 - all gates have one shape
    """Keep a one-off wish out of long-term memory."""
    return rule(Outcome.WORKING_ONLY, Reason.ONE_OFF) if candidate.ephemeral else None
