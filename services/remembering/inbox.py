"""What waits for the person: held candidates and contradictions; confirmed, refused, chosen by events (R13, R20)."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal
from uuid import uuid5

from events.envelope import Command, NewEvent, Part, StoredEvent, memory_stream
from events.errors import BadInputError, ConcurrencyError
from events.keyring import Keyring
from events.log import EventLog, read_command, read_stream
from events.model import MEMORY_PART, CommandId, Event, MemoryBody, MemoryId, PurposeId, Resolved, Scope, Verified
from events.postgres import Database
from events.vault import Vault
from projections.changes import Fact, fold, within
from projections.embedding import Embedder
from projections.index import PART as INDEX
from projections.memories import open_memories
from services.governance.reasons import Reason
from services.remembering.indexing import index_of
from services.remembering.settle import (
    Opened,
    Settlement,
    choose,
    confirm,
    overtaken,
    refuse,
    rivals_of,
    said_later,
    verify,
)

_TRIES: Final = 8
_CONSENT: Final = frozenset({Reason.NEEDS_CONSENT.value, Reason.CONSENT_WITHDRAWN.value})

What = Literal["confirm", "open", "refuse"]
Why = Literal["needs_consent", "held", "in_conflict", "recheck"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that waits: the memory version, why, and what it is in conflict with."""

    fact: Fact
    why: Why
    rivals: tuple[MemoryId, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """Where something that waited ended: a memory version, or nowhere (`refused`)."""

    memory_id: MemoryId
    version: int
    decision: str


@dataclass(frozen=True)
class _Moment:
    """A person's whole memory stream, opened; decisions hold as long as it has this version."""

    stream: list[StoredEvent]
    opened: list[Opened]
    version: int


class Inbox:
    """Settles what waits, as the person says. Confirming is the person's own word and so the highest authority (R22).

    Args:
        vault: with the right to lease keys.
        events: the write path.
        reader: a pool under `cenotaph_reader`.
        embedder: makes the vector of what is confirmed.
    """

    def __init__(self, vault: Vault, events: EventLog, reader: Database, embedder: Embedder) -> None:
        self._vault = vault
        self._events = events
        self._reader = reader
        self._embedder = embedder

    async def waiting(self, scope: Scope) -> list[Waiting]:
        """List what waits, newest first."""
        keyring = await self._vault.keyring(scope)
        moment = await self._moment(keyring)
        found = []
        for each in moment.opened:
            if each.fact.status == "in_conflict":
                rivals = rivals_of(each.fact.memory_id, moment.stream, moment.opened)
                found.append(Waiting(each.fact, "in_conflict", rivals))
            elif each.fact.status == "held":
                found.append(Waiting(each.fact, "needs_consent" if each.fact.reason in _CONSENT else "held"))
            elif _wants_recheck(each):
                found.append(Waiting(each.fact, "recheck"))
        return sorted(found, key=lambda each: (each.fact.recorded_at, each.fact.memory_id), reverse=True)

    async def confirm(
        self, scope: Scope, waiting: MemoryId, actor: str, purpose: PurposeId | None = None
    ) -> Settled | None:
        """Make a held candidate a memory, let one of several in conflict stand, or say that a memory still holds.

        None where there is none such. With a `purpose`, what was held for none becomes a memory for that one alone.

        Raises:
            BadInputError: it was refused, or the person said something else of it later, which waits for consent too.
        """
        return await self._settle(scope, waiting, actor, "confirm", purpose)

    async def refuse(self, scope: Scope, waiting: MemoryId, actor: str) -> Settled | None:
        """Drop a held candidate with its content; the messages it came from stay. None where there is none such.

        Raises:
            BadInputError: it was confirmed, or is in conflict, where one is chosen instead.
        """
        return await self._settle(scope, waiting, actor, "refuse")

    async def confirm_class(self, scope: Scope, sensitivity: str, actor: str, purpose: PurposeId | None = None) -> int:
        """Confirm what waits for consent to a sensitive class, for a purpose; return how much that was.

        In the order in which it was said, so that of two statements about one thing the later one stands (R20).
        """
        keyring = await self._vault.keyring(scope)
        waits = [
            each.fact
            for each in (await self._moment(keyring)).opened
            if each.fact.status == "held"
            and each.fact.reason in _CONSENT
            and each.body.sensitivity == sensitivity
            and (purpose is None or each.fact.purpose in {None, purpose})
        ]
        confirmed = 0
        for fact in sorted(waits, key=lambda fact: (fact.occurred_at, fact.recorded_at)):
            with suppress(BadInputError):  # refused meanwhile: that word on it stands
                settled = await self._settle(scope, fact.memory_id, actor, "open", purpose)
                confirmed += settled is not None and settled.decision == "confirmed"
        return confirmed

    async def _settle(
        self,
        scope: Scope,
        waiting: MemoryId,
        actor: str,
        what: What,
        purpose: PurposeId | None = None,
    ) -> Settled | None:
        """Decide under the version of the stream that was read, again where somebody else wrote meanwhile."""
        settling = CommandId(uuid5(waiting, "settle"))
        keyring = await self._vault.keyring(scope)
        for attempt in range(_TRIES):
            moment = await self._moment(keyring)
            own = next((each for each in moment.opened if each.fact.memory_id == waiting), None)
            ran_out = own is not None and own.fact.status == "current" and own.fact.lease_ended_at is not None
            command_id = _rechecking(own) if own is not None and ran_out else settling
            # read after the stream: whatever was settled there by then is known here
            if known := await self._known(scope, command_id):
                return _settled_before(known, what)
            if own is None or (own.fact.status not in {"held", "in_conflict"} and not _wants_recheck(own)):
                return None
            settlement = _settlement(own, moment, what, purpose)
            events = await self._sealed(keyring, settlement)
            stream = memory_stream(scope.subject_id)
            try:
                await self._events.append(Command(command_id, scope, stream, moment.version, actor, events))
            except ConcurrencyError:
                if attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(0.005 * 2**attempt)
            else:
                # confirming and refusing are one command, so what the log holds under it may be another's decision
                return _settled_before(await self._known(scope, command_id), what)
        return None

    async def _known(self, scope: Scope, command_id: CommandId) -> list[StoredEvent]:
        async with self._reader.transaction(scope) as connection:
            return await read_command(connection, command_id)

    async def _moment(self, keyring: Keyring) -> _Moment:
        async with self._reader.transaction(keyring.scope) as connection:
            stream = await read_stream(connection, keyring.scope, memory_stream(keyring.scope.subject_id))
            state = within(fold({}, stream), keyring.scope)
            facts = [fact for fact in state.values() if fact.status in {"current", "in_conflict", "held"}]
            bodies = await open_memories(connection, keyring, facts)
        opened = [Opened(fact, body) for fact in facts if isinstance(body := bodies.get(fact.event_id), MemoryBody)]
        return _Moment(stream, opened, stream[-1].version if stream else 0)

    async def _sealed(self, keyring: Keyring, settlement: Settlement) -> tuple[NewEvent, ...]:
        now = datetime.now(UTC)
        parts: tuple[Part, ...] = ()
        if settlement.body is not None:
            (key,) = await keyring.lease(1)
            (vector,) = await self._embedder.embed_passages([settlement.body.content])
            index = index_of(keyring, settlement.body, vector, self._embedder.model_id)
            parts = (Part(MEMORY_PART, settlement.body, key), Part(INDEX, index, key))
        return tuple(NewEvent(event, now, parts if _carries(event) else ()) for event in settlement.events)


def _wants_recheck(own: Opened) -> bool:
    """Say whether upkeep noted that the lease of something risky is over, and nobody confirmed it since (R34)."""
    return own.fact.status == "current" and own.fact.lease_noted and own.body.sensitivity is not None


def _rechecking(own: Opened) -> CommandId:
    """Name the command that confirms a memory once for each time its lease ran out."""
    return CommandId(uuid5(own.fact.memory_id, f"verify|{own.fact.version}|{own.fact.lease_ended_at}"))


def _settlement(own: Opened, moment: _Moment, what: What, purpose: PurposeId | None) -> Settlement:
    if own.fact.status == "current":
        if what == "refuse":
            raise BadInputError("it is a memory: say what holds now, or forget it")
        return verify(own)
    if own.fact.status == "in_conflict":
        if what == "refuse":
            raise BadInputError("it is in conflict with another memory: confirm the one that holds, or forget this one")
        return choose(own, rivals_of(own.fact.memory_id, moment.stream, moment.opened))
    if what == "refuse":
        return refuse(own, moment.stream)
    if own.fact.reason == Reason.SYSTEM_OWNS_IT:
        raise BadInputError(
            "a business system owns what this is about, and only it changes it; refuse it, or ask there"
        )
    if what == "open":
        return overtaken(own, moment.stream, moment.opened, purpose) or confirm(
            own, moment.stream, moment.opened, purpose
        )
    if own.fact.reason in _CONSENT and (later := said_later(own, moment.opened)) is not None:
        raise BadInputError(
            f"something else was said of it later, which waits too ({later.fact.memory_id}): confirm that,"
            " or refuse it before you confirm this"
        )
    return confirm(own, moment.stream, moment.opened, purpose)


def _carries(event: Event) -> bool:
    return event.type == "accepted"


def _settled_before(known: list[StoredEvent], what: What) -> Settled:
    (event,) = (each.event for each in known if isinstance(each.event, Resolved | Verified))
    if isinstance(event, Verified):
        return Settled(event.memory_id, event.version, "verified")
    if (event.decision == "refused") != (what == "refuse"):
        raise BadInputError(f"it was {event.decision} before; forget a memory, or say the thing again, instead")
    return Settled(event.memory_id, event.version, event.decision)
