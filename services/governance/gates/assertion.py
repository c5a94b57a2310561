"""Gate 7: only what is stated is remembered; a plan is a plan, a negation stays one."""

from events.model import Assertion, Candidate, Kind, Outcome
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule

_PLANS = frozenset({Kind.PLAN, Kind.GOAL})
_FACTS = frozenset({Kind.FACT, Kind.PROFILE})


def assertion(candidate: Candidate, view: View) -> Ruling | None:  # noqa: ARG001 - all gates have one shape
    """Reject what is not stated, a plan dressed as a fact, and hold an inference that would become a fact."""
    if candidate.assertion is Assertion.HYPOTHETICAL:
        return rule(Outcome.REJECTED, Reason.HYPOTHETICAL)
    if candidate.assertion is Assertion.PLANNED and candidate.kind not in _PLANS:
        return rule(Outcome.REJECTED, Reason.PLAN_AS_FACT)
    if candidate.assertion is Assertion.INFERRED and candidate.kind in _FACTS:
        return rule(Outcome.HELD, Reason.INFERRED)
    return None
