"""What the closing turn of a task, or a turn of upkeep, proposes to remember: candidates for the gates (R52, R53)."""

from typing import Final

from events.bodies import Lost, Shredded, open_bodies
from events.envelope import StoredEvent
from events.keyring import Keyring
from events.log import read_events
from events.model import (
    Assertion,
    Candidate,
    Evidence,
    Message,
    MessageBody,
    MessageId,
    Origin,
    ProposalBody,
    Turn,
    TurnFinalized,
)
from events.postgres import Connection
from projections.sessions import message_part, messages_by_id, proposal_part
from services.extraction.extract import Extraction
from services.extraction.extractor import Extracted
from services.extraction.vocabulary import holds_several, sensitivity_of
from services.governance.folding import plain

NAME: Final = "task/1"
_CONFIDENCE: Final = 0.8


async def open_proposals(
    connection: Connection, keyring: Keyring, stored: StoredEvent, turn: Turn
) -> tuple[Turn, Extracted]:
    """Open what a closing turn proposes; return the turn with the messages of the person that it rests on, and that."""
    names = {proposal_part(message.message_id): message for message in turn.messages}
    opened = await open_bodies(connection, keyring, ((stored, name) for name in names))
    proposals = [
        (names[name], ProposalBody.model_validate_json(body))
        for (_, name), body in opened.items()
        if not isinstance(body, Shredded | Lost)
    ]
    rested = await _open_messages(connection, keyring, {each for _, body in proposals for each in body.rests_on})
    # what upkeep made of something says nothing once some of it can no longer be read
    made_of = {*stored.event.rests_on} if isinstance(stored.event, TurnFinalized) else set()
    whole = made_of <= rested.keys()
    candidates = tuple(candidate_of(message, proposal, rested) for message, proposal in proposals) if whole else ()
    seen = turn.model_copy(update={"messages": (*turn.messages, *rested.values())})
    return seen, Extracted(extraction=Extraction(candidates=candidates, suppressions=()), extractor=NAME)


def candidate_of(message: Message, proposal: ProposalBody, rested: dict[MessageId, Message]) -> Candidate:
    """Turn a proposal into a candidate.

    What rests on the person's own messages points at them, and is stated only where one of them holds its words;
    otherwise it is an inference. What rests on none points at what the agent concluded.
    """
    own = [rested[each] for each in proposal.rests_on if each in rested and rested[each].origin is Origin.USER]
    pointed = own or [message]
    stated = not own or any(plain(proposal.value) in plain(each.content) for each in own)
    return Candidate(
        kind=proposal.kind,
        key=proposal.key,
        value=proposal.value,
        content=message.content,
        scope=proposal.scope,
        multi_valued=proposal.key is None or holds_several(proposal.key),
        evidence=tuple(Evidence(message_id=each.message_id, start=0, end=len(each.content)) for each in pointed),
        assertion=Assertion.STATED if stated else Assertion.INFERRED,
        confidence=_CONFIDENCE,
        importance=proposal.importance,
        sensitivity=sensitivity_of(plain(message.content)),
    )


async def _open_messages(
    connection: Connection, keyring: Keyring, messages: set[MessageId]
) -> dict[MessageId, Message]:
    rows = await messages_by_id(connection, keyring.scope, messages) if messages else []
    events = await read_events(connection, {row.event_id for row in rows})
    opened = await open_bodies(
        connection, keyring, ((events[row.event_id], message_part(row.message_id)) for row in rows)
    )
    found = {}
    for row in rows:
        body = opened[row.event_id, message_part(row.message_id)]
        if not isinstance(body, Shredded | Lost):
            content = MessageBody.model_validate_json(body).content
            found[row.message_id] = Message(
                message_id=row.message_id, role=row.role, origin=row.origin, content=content
            )
    return found
