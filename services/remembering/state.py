"""What is known about a person at this moment: facts ⊕ the events the facts table has not folded yet."""

from collections.abc import Collection
from dataclasses import dataclass

from events.postgres import Connection
from events.vault import Keyring
from projections.changes import State, fold, touched_by
from projections.facts import newer_events, read_living, read_memories

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
