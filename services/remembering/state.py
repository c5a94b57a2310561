"""What is known about a person at this moment: facts ⊕ the events the facts table has not folded yet."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from events.envelope import memory_stream
from events.keyring import Keyring
from events.log import read_tombstones
from events.model import Claim, Tombstoned
from events.postgres import Connection
from projections.changes import State, fold, touched_by
from projections.facts import newer_events, read_living, read_memories
from services.governance.sameness import topic_basis
from services.governance.topic import topic_of

_RECENT = 200  # how many memories a paraphrase without the same tag is looked for in


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of one person as of `version` of the memory stream: asked-for and just-changed memories only."""

    facts: State
    version: int


async def snapshot(connection: Connection, keyring: Keyring, tags: Collection[bytes]) -> Snapshot:
    """Read the current and held memories with one of these tags, the most recent others, and everything newer."""
    scope = keyring.scope
    newer, version = await newer_events(connection, scope)
    living = await read_living(connection, scope, tags, _RECENT)
    known = living | await read_memories(connection, scope, touched_by(newer))
    return Snapshot(fold(known, newer), version)


async def forgotten_since(
    connection: Connection, keyring: Keyring, said_at: datetime, claims: Iterable[Claim]
) -> frozenset[str]:
    """Say which topics of these claims were forgotten at or after a moment.

    Only the log is asked, so a rebuild changes nothing. A tombstone that could not say what it was about stands for
    everything.
    """
    scope = keyring.scope
    tombstones = await read_tombstones(connection, scope, memory_stream(scope.subject_id), said_at)
    if not tombstones:
        return frozenset()
    named = [each.event.topics for each in tombstones if isinstance(each.event, Tombstoned)]
    topics = {topic for each in named for topic in each or ()}
    return frozenset(topic_basis(claim) for claim in claims if None in named or topic_of(keyring, claim) in topics)
