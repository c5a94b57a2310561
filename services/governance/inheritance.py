"""The sensitive class of a correction: that of what it corrects, at least (R13.8). Pure."""

from collections.abc import Iterable

from events.model import Audience, Candidate, MemoryBody
from services.governance.audience import EVERYWHERE
from services.governance.gates.conflict import contradicts


def inheriting(
    candidate: Candidate, audience: Audience, known: Iterable[tuple[MemoryBody, Audience]]
) -> tuple[Candidate, Audience]:
    """Give a correction that shows no class the one of what it corrects; what is sensitive enters no project (R31).

    Args:
        candidate: what is proposed.
        audience: which readers it is for.
        known: what is remembered or held, and which readers each is for.
    """
    if candidate.sensitivity is not None or not (candidate.correction or candidate.replaces):
        return candidate, audience
    private = audience.model_copy(update={"project": None})
    own = candidate if audience == private else candidate.model_copy(update={"scope": EVERYWHERE})
    corrected = (body for body, readers in known if readers == private and contradicts(own, body))
    inherited = next((body.sensitivity for body in corrected if body.sensitivity is not None), None)
    if inherited is None:
        return candidate, audience
    return own.model_copy(update={"sensitivity": inherited}), private
