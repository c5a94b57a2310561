"""Gate 2: the words a claim rests on exist, and its numbers are among them (R12)."""

import re

from events.model import Candidate, Evidence, Message, Outcome
from services.governance.folding import plain
from services.governance.reasons import Reason
from services.governance.view import Ruling, View, rule

_NUMBER = re.compile(r"[0-9]+")


def evidence(candidate: Candidate, view: View) -> Ruling | None:
    """Reject a claim whose evidence cannot be read back or does not hold the numbers it claims."""
    if not candidate.evidence:
        return rule(Outcome.REJECTED, Reason.NO_EVIDENCE)
    messages = {message.message_id: message for message in view.turn.messages}
    quotes: list[str] = []
    for pointer in candidate.evidence:
        message = messages.get(pointer.message_id)
        if message is None:
            return rule(Outcome.REJECTED, Reason.UNKNOWN_MESSAGE)
        if not _inside(pointer, message):
            return rule(Outcome.REJECTED, Reason.SPAN_OUTSIDE)
        quotes.append(message.content[pointer.start : pointer.end])
    quoted = set(_NUMBER.findall(plain("\n".join(quotes))))
    if not quoted.issuperset(_NUMBER.findall(plain(candidate.value))):
        return rule(Outcome.REJECTED, Reason.VALUE_NOT_GROUNDED)
    return None


def _inside(pointer: Evidence, message: Message) -> bool:
    return pointer.start < pointer.end <= len(message.content)
