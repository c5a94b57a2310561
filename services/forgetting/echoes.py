"""Messages that say word for word what is to be forgotten, though nothing was made of them (R41)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from events.bodies import open_bodies
from events.envelope import StoredEvent
from events.keyring import Keyring
from events.log import read_events
from events.model import (
    MEMORY_PART,
    Accepted,
    CandidateProposed,
    EventId,
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
from services.forgetting.said import unescaped
from services.governance.folding import plain

_MOST: Final = 500  # of the newest messages are looked at: the fence waits for this
_FEWEST_SIGNS, _FEWEST_WORDS = 5, 3  # Chinese signs or Latin words; less than that says nothing by itself
_BETWEEN = re.compile(r"[\W_]+")
_HAS_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class Sayings:
    """Texts in the form in which they are compared; one that says nothing alone counts as a whole message only."""

    held: frozenset[str]
    whole: frozenset[str] = frozenset()

    @classmethod
    def of(cls, contents: Iterable[str], quoted: Iterable[str] = ()) -> Self:
        """Take what memories hold, and beside it the words they were made of, which alone may mean anything."""
        held = frozenset(map(_bare, contents))
        return cls(frozenset(filter(_says_something, held.union(map(_bare, quoted)))), held)

    def within(self, text: str) -> bool:
        """Say whether a text holds one of them, as whole words and not denied by the sign before it."""
        return any(_bare(each) in self.whole or _repeats(each, self.held) for each in {text, unescaped(text)})


@dataclass(frozen=True, slots=True)
class Heard:
    """The newest messages of a person, opened, and the turns they were said in."""

    texts: Mapping[MessageId, str]
    turns: Mapping[MessageId, TurnId]


async def newest_heard(connection: Connection, keyring: Keyring) -> Heard:
    """Open the newest messages, but for those of turns that nobody has considered yet.

    Raises:
        UnavailableError: a store does not answer.
    """
    rows = await newest_messages(connection, keyring.scope, _MOST)
    events = await read_events(connection, {row.event_id for row in rows})
    wanted = [(events[row.event_id], message_part(row.message_id)) for row in rows]
    opened = await open_bodies(connection, keyring, wanted)
    texts = {
        row.message_id: MessageBody.model_validate_json(body).content
        for row in rows
        if isinstance(body := opened.get((row.event_id, message_part(row.message_id))), bytes)
    }
    return Heard(texts, {row.message_id: row.turn_id for row in rows})


async def echoes_of(
    connection: Connection, keyring: Keyring, stream: Sequence[StoredEvent], going: Going, heard: Heard
) -> Mapping[MessageId, TurnId]:
    """Find among messages those that hold a text, or the words, of a memory that goes, with their turns.

    Left are those that another memory rests on which says the same: its words they are, and it was not asked for.

    Raises:
        UnavailableError: a store does not answer.
    """
    versions = [version for each in going.found.values() for version in each.versions]
    contents = await contents_of(connection, keyring, versions)
    sayings = Sayings.of(contents.values(), _evidence(stream, going, heard.texts))
    found = {message for message, text in heard.texts.items() if sayings.within(text)}
    resting = {
        fact.event_id: found.intersection(fact.cites)
        for fact in fold({}, stream).values()
        if fact.status in CITING and fact.memory_id not in going.found and found.intersection(fact.cites)
    }
    others = await contents_of(connection, keyring, [each for each in stream if each.event_id in resting])
    own = (resting[event] for event, content in others.items() if sayings.within(content))
    return {message: heard.turns[message] for message in found.difference(*own)}


async def contents_of(connection: Connection, keyring: Keyring, versions: Iterable[StoredEvent]) -> dict[EventId, str]:
    """Open what some memories hold, as far as it may be read."""
    opened = await open_bodies(connection, keyring, ((each, MEMORY_PART) for each in versions))
    return {
        event: MemoryBody.model_validate_json(body).content
        for (event, _), body in opened.items()
        if isinstance(body, bytes)
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


def _repeats(text: str, sayings: Iterable[str]) -> bool:
    text = f" {_bare(text)} "
    return any(re.search(rf"(?<![不没别未非])(?<![a-z0-9]){re.escape(saying)}(?![a-z0-9])", text) for saying in sayings)


def _bare(text: str) -> str:
    return _BETWEEN.sub(" ", plain(text)).strip()


def _says_something(saying: str) -> bool:
    return len(_HAS_CJK.findall(saying)) >= _FEWEST_SIGNS or len(saying.split()) >= _FEWEST_WORDS
