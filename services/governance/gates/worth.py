"""Gate 9: what is worth keeping (R13.9): relevance, importance, confidence and future value, weighted."""

from typing import NamedTuple

from events.model import Assertion, Candidate, Outcome
from services.governance.gates.conflict import rivals
from services.governance.policy import Policy
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule


class Worth(NamedTuple):
    """The four features in [0, 1], and their weighted sum."""

    relevance: float
    importance: float
    confidence: float
    future_value: float
    worth: float


def worth_of(candidate: Candidate, policy: Policy, *, known: bool = False) -> Worth:
    """Weigh a candidate: under a semantic key it answers what will be asked; its kind says how long it is of use.

    `known`: it takes the place of what was worth keeping.
    """
    weights = policy.worth
    relevance = 1.0 if known or candidate.key is not None else weights.relevance_without_key
    future = weights.future[candidate.kind]
    total = (
        weights.relevance * relevance
        + weights.importance * candidate.importance
        + weights.confidence * candidate.confidence
        + weights.future_value * future
    )
    return Worth(relevance, candidate.importance, candidate.confidence, future, total)


def worth(candidate: Candidate, view: View) -> Ruling | None:
    """Keep what nobody stated, what is over and what is worth little in working memory; hold a weak contradiction."""
    if candidate.explicit:
        return None
    if candidate.assertion is Assertion.INFERRED:
        return rule(Outcome.WORKING_ONLY, Reason.NOT_STATED)
    if candidate.valid_until is not None and candidate.valid_until < view.turn.occurred_at:
        return rule(Outcome.WORKING_ONLY, Reason.OVER)
    weighed = worth_of(candidate, view.policy, known=view.succeeds is not None).worth
    if weighed < view.policy.worth.write:
        return rule(Outcome.WORKING_ONLY, Reason.NOT_WORTH_IT)
    weak = weighed < view.policy.worth.conflict
    if weak and rivals(candidate, view):
        return rule(Outcome.HELD, Reason.WEAK_CONTRADICTION)
    return None
