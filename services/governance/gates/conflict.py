"""Gate 12: two claims about one thing (R20). Authority and the person's own time decide, not arrival."""

from events.model import Assertion, Candidate, Kind, Outcome
from services.governance.reasons import Reason
from services.governance.sameness import covers, same_thing, same_value
from services.governance.view import Living, Ruling, View, Writing, rule


def conflict(candidate: Candidate, view: View) -> Ruling | None:
    """Supersede an older contradicting memory; reject one older than what it contradicts, or that withdraws nothing."""
    against = [living for living in view.living if _contradicts(candidate, living)]
    if not against:
        withdrawn = candidate.kind is Kind.PLAN and not candidate.positive
        return rule(Outcome.WORKING_ONLY, Reason.NOTHING_TO_WITHDRAW) if withdrawn else None
    latest = max(against, key=lambda living: (living.occurred_at, living.recorded_at))
    if candidate.assertion is Assertion.PAST or view.turn.occurred_at < latest.occurred_at:
        return rule(Outcome.REJECTED, Reason.STALE)
    if candidate.assertion is Assertion.INFERRED:
        return rule(Outcome.HELD, Reason.LOWER_CONFIDENCE, latest)
    return rule(Writing.SUPERSEDE, Reason.NEWER_STATEMENT if candidate.positive else Reason.WITHDRAWN, latest)


def _contradicts(candidate: Candidate, living: Living) -> bool:
    claim = living.claim
    opposite = candidate.positive != claim.positive
    if candidate.kind is Kind.PLAN and claim.kind is Kind.PLAN and not candidate.positive:
        return opposite and covers(claim, candidate)
    if not same_thing(candidate, claim):
        return False
    if candidate.key is None or candidate.multi_valued:
        return opposite and (same_value(candidate, claim) or (not candidate.positive and covers(claim, candidate)))
    # One value at a time: another value replaces it, its denial ends it, the denial of something else leaves it alone.
    return same_value(candidate, claim) if opposite and not candidate.positive else True
