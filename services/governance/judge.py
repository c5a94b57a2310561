"""The judge: the gates in the order of R13; the first that objects decides."""

from collections.abc import Callable, Sequence

from events.model import Candidate
from services.governance.gates.assertion import assertion
from services.governance.gates.authority import authority
from services.governance.gates.capacity import capacity
from services.governance.gates.confidence import confidence
from services.governance.gates.conflict import conflict
from services.governance.gates.duplicate import duplicate
from services.governance.gates.editability import editability
from services.governance.gates.ephemeral import ephemeral
from services.governance.gates.evidence import evidence
from services.governance.gates.forgotten import forgotten
from services.governance.gates.instruction import instruction
from services.governance.gates.origin import origin
from services.governance.gates.purpose import purpose
from services.governance.gates.secret import secret
from services.governance.gates.sensitivity import sensitivity
from services.governance.gates.suppression import suppression
from services.governance.gates.worth import worth
from services.governance.reasons import Reason
from services.governance.view import Living, Ruling, Target, View, Writing, rule

__all__ = ["GATES", "Gate", "Living", "Ruling", "Target", "View", "Writing", "judge"]

Gate = Callable[[Candidate, View], Ruling | None]

GATES: tuple[Gate, ...] = (
    origin,
    evidence,
    secret,
    suppression,
    instruction,
    ephemeral,
    assertion,
    purpose,
    sensitivity,
    worth,
    confidence,
    forgotten,
    authority,
    duplicate,
    editability,
    conflict,
    capacity,
)


def judge(candidate: Candidate, view: View, gates: Sequence[Gate] = GATES) -> Ruling:
    """Decide about one candidate.

    Candidates of one turn are judged one after the other, each against a view that holds what the earlier ones became.

    Args:
        candidate: what is proposed.
        view: the turn, what is remembered, what the person chose, and the policy.
        gates: asked in this order; fewer only where it is measured what one is worth.
    """
    for gate in gates:
        ruling = gate(candidate, view)
        if ruling is not None:
            return ruling
    return rule(Writing.ACCEPT, Reason.NEW)
