"""What a person chose for all memories to come: consents by sensitive class, and what not to remember.

Read off the log itself at every decision and every recall, so that a choice holds from its commit on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from events.bodies import Lost, Shredded, open_bodies
from events.envelope import StoredEvent, memory_stream
from events.keyring import Keyring
from events.log import fenced, read_choices
from events.model import ConsentGiven, ConsentWithdrawn, MemoryId, PurposeId, Scope, SuppressionAsked, SuppressionBody
from events.postgres import Connection

SUPPRESSION_PART: Final = "suppression"
TRAINING: Final = "training"
"""Not a sensitive class but a use: that what is kept of a person may go into sets for training and evaluation (R46)."""


@dataclass(frozen=True, slots=True)
class Consents:
    """The sensitive classes that are open, and those that were open once and are blind now (R22).

    `purposes` says of a class that is open for some purposes alone for which.
    """

    given: frozenset[str] = frozenset()
    withdrawn: frozenset[str] = frozenset()
    purposes: Mapping[str, frozenset[PurposeId]] = field(default_factory=dict)

    def bar(self, sensitivity: str | None, purpose: PurposeId | None) -> bool:
        """Tell whether a class is open, but not for this purpose."""
        only = self.purposes.get(sensitivity or "")
        return only is not None and purpose not in only

    def open_for(self, purpose: PurposeId | None) -> frozenset[str]:
        """Name the classes that are open for a purpose."""
        return frozenset(each for each in self.given if not self.bar(each, purpose))


@dataclass(frozen=True, slots=True)
class Choices:
    """Consents, and the suppressions that stand, by id: what each says, and the event that asked for it."""

    consents: Consents
    suppressions: dict[MemoryId, str]
    asked: dict[MemoryId, StoredEvent]


def fold_consents(events: Iterable[StoredEvent]) -> Consents:
    """Let the last word on each class count; purposes that are given one after the other add up."""
    last: dict[str, bool] = {}
    purposes: dict[str, frozenset[PurposeId]] = {}
    for stored in events:
        event = stored.event
        if isinstance(event, ConsentGiven | ConsentWithdrawn):
            last[event.sensitivity] = isinstance(event, ConsentGiven)
            if isinstance(event, ConsentGiven) and event.purpose is not None:
                purposes[event.sensitivity] = purposes.get(event.sensitivity, frozenset()) | {event.purpose}
            else:
                purposes.pop(event.sensitivity, None)
    return Consents(
        frozenset(name for name, given in last.items() if given),
        frozenset(name for name, given in last.items() if not given),
        purposes,
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
