"""Gate 11: what is already remembered is reinforced, not written twice."""

from events.model import Candidate, Origin, Outcome
from services.governance.reasons import Reason
from services.governance.sameness import near_value, same_thing, same_value
from services.governance.view import Living, Ruling, View, Writing, rule

_REINFORCES = frozenset({Origin.USER, Origin.SYSTEM})


def duplicate(candidate: Candidate, view: View) -> Ruling | None:
    """Reinforce the memory that says the same; polarity, numbers, names and negations must agree."""
    same = [living for living in view.living if _says_the_same(candidate, living, view.policy.near_duplicate)]
    if not same:
        return None
    cited = {pointer.message_id for pointer in candidate.evidence}
    if not any(message.origin in _REINFORCES for message in view.turn.messages if message.message_id in cited):
        return rule(Outcome.REJECTED, Reason.AGENT_REPEATS)  # R11
    return rule(Writing.REINFORCE, Reason.SAME, max(same, key=lambda living: living.occurred_at))


def _says_the_same(candidate: Candidate, living: Living, threshold: float) -> bool:
    claim = living.claim
    if not same_thing(candidate, claim) or candidate.positive != claim.positive:
        return False
    if same_value(candidate, claim):
        return True
    several = candidate.multi_valued or candidate.key is None
    return several and near_value(candidate, claim, threshold)
