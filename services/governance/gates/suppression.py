"""Gate 4: what the person said not to remember (R13): in this turn, or earlier and in other words."""

from events.model import Candidate, Evidence, Outcome
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule


def suppression(candidate: Candidate, view: View) -> Ruling | None:
    """Suppress a claim that rests on words the person asked not to remember, or is about what they once described."""
    covered = [span for wish in view.suppressions for span in (wish.evidence, *wish.covers)]
    if any(_overlap(pointer, span) for pointer in candidate.evidence for span in covered):
        return rule(Outcome.SUPPRESSED, Reason.ASKED_NOT_TO_REMEMBER)
    if view.described.get(candidate.content, 0.0) >= view.policy.about.threshold:
        return rule(Outcome.SUPPRESSED, Reason.DESCRIBED_BEFORE)
    return None


def _overlap(one: Evidence, other: Evidence) -> bool:
    return one.message_id == other.message_id and one.start < other.end and other.start < one.end
