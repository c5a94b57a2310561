"""Messages that say word for word what is to be forgotten, though nothing was made of them (R41)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from events.bodies import open_bodies
from events.envelope import StoredEvent
from events.keyring import Keyring
from events.log import read_events
from events.model import (
    MEMORY_PART,
    Accepted,
    CandidateProposed,
    MemoryBody,
    MessageBody,
    MessageId,
    NotWritten,
    TurnId,
)
from events.postgres import Connection
from projections.changes import CITING, fold
from projections.sessions import message_part, newest_messages
from services.forgetting.plan import Going
from services.governance.folding import plain

_MOST: Final = 500  # of the newest messages are looked at: the fence waits for this
_FEWEST_SIGNS, _FEWEST_WORDS = 5, 3  # Chinese signs or Latin words; less than that says nothing by itself
_BETWEEN = re.compile(r"[\W_]+")
_HAS_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")


async def echoes_of(
    connection: Connection, keyring: Keyring, stream: Sequence[StoredEvent], going: Going
) -> Mapping[MessageId, TurnId]:
    """Find among the newest messages those that hold a text, or the words, of a memory that goes, with their turns.

    Left are those another memory rests on, which was not asked for, and those of turns that nobody has considered yet.

    Raises:
        UnavailableError: a store does not answer.
    """
    rows = await newest_messages(connection, keyring.scope, _MOST)
    if not rows or not going.found:
        return {}
    versions = [version for each in going.found.values() for version in each.versions]
    events = await read_events(connection, {row.event_id for row in rows})
    wanted = [(events[row.event_id], message_part(row.message_id)) for row in rows]
    opened = await open_bodies(connection, keyring, [*wanted, *((each, MEMORY_PART) for each in versions)])
    texts = {
        row.message_id: MessageBody.model_validate_json(body).content
        for row in rows
        if isinstance(body := opened.get((row.event_id, message_part(row.message_id))), bytes)
    }
    bodies = [opened.get((each.event_id, MEMORY_PART)) for each in versions]
    contents = [MemoryBody.model_validate_json(body).content for body in bodies if isinstance(body, bytes)]
    sayings = sayings_of([*contents, *_evidence(stream, going, texts)])
    kept = {
        message
        for fact in fold({}, stream).values()
        if fact.status in CITING and fact.memory_id not in going.found
        for message in fact.cites
    }
    turns = {row.message_id: row.turn_id for row in rows}
    return {
        message: turns[message] for message, text in texts.items() if message not in kept and repeats(text, sayings)
    }


def _evidence(stream: Iterable[StoredEvent], going: Going, texts: Mapping[MessageId, str]) -> Iterable[str]:
    """Yield the words that the memories were made of."""
    versions = [version.event for trace in going.found.values() for version in trace.versions]
    made_of = {event.candidate_id for event in versions if isinstance(event, Accepted | NotWritten)}
    for stored in stream:
        if isinstance(event := stored.event, CandidateProposed) and event.candidate_id in made_of:
            for pointer in event.pointers:
                if pointer.message_id in texts:
                    yield texts[pointer.message_id][pointer.start : pointer.end]


def sayings_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the texts in the form in which they are compared, without those too short to say anything alone."""
    return frozenset(saying for text in texts if _says_something(saying := _bare(text)))


def repeats(text: str, sayings: Iterable[str]) -> bool:
    """Say whether a text holds one of the sayings, as whole words and not denied by the sign before it."""
    text = f" {_bare(text)} "
    return any(re.search(rf"(?<![不没别未非])(?<![a-z0-9]){re.escape(saying)}(?![a-z0-9])", text) for saying in sayings)


def _bare(text: str) -> str:
    return _BETWEEN.sub(" ", plain(text)).strip()


def _says_something(saying: str) -> bool:
    return len(_HAS_CJK.findall(saying)) >= _FEWEST_SIGNS or len(saying.split()) >= _FEWEST_WORDS
