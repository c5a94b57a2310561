"""What a person chooses for all memories to come: consent to a sensitive class, and what not to remember (R13, R22)."""

import asyncio
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from events.envelope import Command, NewEvent, Part, memory_stream
from events.errors import BadInputError, ConcurrencyError
from events.log import EventLog, read_choices, read_last
from events.model import (
    CommandId,
    ConsentGiven,
    ConsentWithdrawn,
    Event,
    MemoryId,
    PurposeId,
    Scope,
    SuppressionAsked,
    SuppressionBody,
)
from events.postgres import Database
from events.vault import Vault
from projections.choices import SUPPRESSION_PART, TRAINING, Choices, open_choices
from services.governance.folding import plain
from services.governance.policy import Policy
from services.governance.secrets import redact
from services.remembering.wishes import lifts_of, said_in

_TRIES: Final = 12


class Chooser:
    """Appends a person's choices. Each holds from its commit on: a turn that is being considered is decided anew.

    Args:
        vault: with the right to lease keys.
        events: the write path.
        reader: a pool under `cenotaph_reader`.
        policy: names the sensitive classes.
    """

    def __init__(self, vault: Vault, events: EventLog, reader: Database, policy: Policy) -> None:
        self._vault = vault
        self._events = events
        self._reader = reader
        self._policy = policy

    @property
    def classes(self) -> frozenset[str]:
        """The sensitive classes of the policy, and the use as training data: nothing of them without consent."""
        return self._policy.sensitive | {TRAINING}

    async def show(self, scope: Scope) -> Choices:
        """Read the choices that stand."""
        keyring = await self._vault.keyring(scope)
        async with self._reader.transaction(scope) as connection:
            return await open_choices(connection, keyring)

    async def consent(
        self, scope: Scope, sensitivity: str, actor: str, *, given: bool, purpose: PurposeId | None = None
    ) -> None:
        """Give or withdraw consent to a sensitive class; saying it again changes nothing.

        Given for a purpose it holds for that one, and for those it was given for one by one before, and for no other.

        Raises:
            BadInputError: the policy knows no such class, or a purpose is named where none can be.
        """
        if sensitivity not in self.classes:
            raise BadInputError(f"no such class; known are {', '.join(sorted(self.classes))}")
        if purpose is not None and (not given or sensitivity == TRAINING):
            raise BadInputError("a purpose is named where consent to a sensitive class is given, and nowhere else")
        consents = (await self.show(scope)).consents
        said = consents.open_for(purpose) if given else consents.withdrawn
        if given and (purpose is None) == (sensitivity in consents.purposes):
            said -= {sensitivity}  # open for other purposes, or for more
        if sensitivity not in said:
            withdrawn = ConsentWithdrawn(sensitivity=sensitivity)
            event = ConsentGiven(sensitivity=sensitivity, purpose=purpose) if given else withdrawn
            await self._append(scope, actor, event)

    async def suppress(self, scope: Scope, description: str, actor: str) -> MemoryId:
        """Not remember what is described, from now on; return the suppression's id, the same for the same words.

        One that was said in a turn is another, which goes with its message or when it is taken back in words. A secret
        in the description is replaced like any other before it is stored (R10).

        Raises:
            ConcurrencyError: other writers of the same person kept winning; ask again.
        """
        description = redact(description).text
        suppression, keyring = MemoryId(uuid4()), await self._vault.keyring(scope)
        asked = SuppressionAsked(suppression_id=suppression)
        parts: tuple[Part, ...] = ()
        for attempt in range(_TRIES):
            async with self._reader.transaction(scope) as connection:
                last = await read_last(connection, scope, memory_stream(scope.subject_id))
                # behind the version: who asks meanwhile makes the append lose
                choices = await open_choices(connection, keyring)
            for known in _saying(description, choices):
                if not said_in(choices.asked[known]):
                    return known
            if not parts:
                (key,) = await keyring.lease(1)
                parts = (Part(SUPPRESSION_PART, SuppressionBody(description=description), key),)
            try:
                await self._append(scope, actor, asked, parts=parts, expected=last.version if last is not None else 0)
            except ConcurrencyError:
                if attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(min(0.2, 0.005 * 2**attempt))
            else:
                break
        return suppression

    async def lift(self, scope: Scope, suppression: MemoryId, actor: str) -> bool:
        """Remember such things again, and forget what the person said about it; False where there is none such.

        Every other one of the same words is lifted with it, or nothing would be remembered again.
        """
        async with self._reader.transaction(scope) as connection:
            events = await read_choices(connection, scope, memory_stream(scope.subject_id))
        asked = {each.event.suppression_id: each for each in events if isinstance(each.event, SuppressionAsked)}
        if suppression not in asked:
            return False
        choices = await self.show(scope)
        same = _saying(choices.suppressions.get(suppression, ""), choices)
        await self._append(scope, actor, *lifts_of(asked[each] for each in dict.fromkeys([suppression, *same])))
        return True

    async def _append(
        self, scope: Scope, actor: str, *events: Event, parts: tuple[Part, ...] = (), expected: int | None = None
    ) -> None:
        news = tuple(NewEvent(event, datetime.now(UTC), parts) for event in events)
        await self._events.append(
            Command(CommandId(uuid4()), scope, memory_stream(scope.subject_id), expected, actor, news)
        )


def _saying(description: str, choices: Choices) -> list[MemoryId]:
    """Name the suppressions that stand and say the same in the same words."""
    return [each for each, said in choices.suppressions.items() if plain(said) == plain(description)]
