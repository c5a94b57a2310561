"""What a person chose for all memories to come: consents by sensitive class, and what not to remember.

Read off the log itself at every decision and every recall, so that a choice holds from its commit on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from events.bodies import Lost, Shredded, open_bodies
from events.envelope import StoredEvent, memory_stream
from events.keyring import Keyring
from events.log import fenced, read_choices
from events.model import ConsentGiven, ConsentWithdrawn, MemoryId, Scope, SuppressionAsked, SuppressionBody
from events.postgres import Connection

SUPPRESSION_PART: Final = "suppression"
TRAINING: Final = "training"
"""Not a sensitive class but a use: that what is kept of a person may go into sets for training and evaluation (R46)."""


@dataclass(frozen=True, slots=True)
class Consents:
    """The sensitive classes that are open, and those that were open once and are blind now (R22)."""

    given: frozenset[str] = frozenset()
    withdrawn: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Choices:
    """Consents, and the suppressions that stand, by id: what each says, and the event that asked for it."""

    consents: Consents
    suppressions: dict[MemoryId, str]
    asked: dict[MemoryId, StoredEvent]


def fold_consents(events: Iterable[StoredEvent]) -> Consents:
    """Let the last word on each class count."""
    last: dict[str, bool] = {}
    for stored in events:
        if isinstance(stored.event, ConsentGiven | ConsentWithdrawn):
            last[stored.event.sensitivity] = isinstance(stored.event, ConsentGiven)
    return Consents(
        frozenset(name for name, given in last.items() if given),
        frozenset(name for name, given in last.items() if not given),
    )


async def read_consents(connection: Connection, scope: Scope) -> Consents:
    """Read one person's consents."""
    return fold_consents(await read_choices(connection, scope, memory_stream(scope.subject_id)))


async def open_choices(connection: Connection, keyring: Keyring) -> Choices:
    """Read one person's consents, and open the suppressions that were not lifted."""
    events = await read_choices(connection, keyring.scope, memory_stream(keyring.scope.subject_id))
    asked = {event.suppression_id: stored for stored in events if isinstance(event := stored.event, SuppressionAsked)}
    lifted = await fenced(connection, keyring.scope, asked)
    standing = {each: stored for each, stored in asked.items() if each not in lifted}
    opened = await open_bodies(connection, keyring, ((stored, SUPPRESSION_PART) for stored in standing.values()))
    suppressions = {}
    for suppression, stored in standing.items():
        body = opened[stored.event_id, SUPPRESSION_PART]
        if not isinstance(body, Shredded | Lost):
            suppressions[suppression] = SuppressionBody.model_validate_json(body).description
    return Choices(fold_consents(events), suppressions, {each: standing[each] for each in suppressions})
