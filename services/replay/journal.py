"""The events of one tenant in the order of the log, with what may still be read of their bodies (R6).

Whoever asks holds a key of the tenant. A body that was forgotten, has expired, or whose class the person closed is a
stone, one that cannot be opened says why, and neither ends the replay.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from events.bodies import Lost, Opened, Tampered, open_bodies
from events.envelope import StoredEvent
from events.errors import BadInputError, ScopeError
from events.keyring import Keyring
from events.log import expired, fenced, head, read_window
from events.model import MEMORY_PART, EventId, KeyId, Position, Scope, SubjectId, TenantId, TurnFinalized
from events.postgres import Connection, Database
from events.vault import Vault
from projections.choices import read_consents
from projections.index import PART as INDEX_PART
from projections.sessions import message_part
from services.access.permission import silence_of

_WINDOW: Final = 500

Place = tuple[EventId, str]

PartState = Literal["open", "forgotten", "expired", "consent_withdrawn", "lost", "tampered", "sealed"]


@dataclass(frozen=True, slots=True)
class Told:
    """A body part as it can be read now. `body` is there where the state is `open`.

    `lost`: its key is missing although nothing says it was destroyed. `tampered`: it is missing or changed although
    nothing says so. `sealed`: vectors and keyed terms, which hold nothing to read.
    """

    name: str
    key_id: KeyId
    state: PartState
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An event with its parts."""

    event: StoredEvent
    parts: tuple[Told, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Which events: positions `first` to `last`, both included; of one person, of one type."""

    first: Position = Position(0)  # noqa: RUF009 - a NewType is the int itself
    last: Position | None = None
    subject: SubjectId | None = None
    kind: str | None = None


def within(position: Position, end: Position) -> None:
    """See that a position is one of the log.

    Raises:
        BadInputError: it lies beyond the end.
    """
    if position > end:
        raise BadInputError(f"there is no position {position} yet; the log ends at position {end}")


class Journal:
    """Reads the log for one tenant at a time.

    Args:
        prober: a pool under `cenotaph_prober`, for envelopes.
        reader: a pool under `cenotaph_reader`, for bodies, person by person.
        vault: with the right to open keys.
    """

    def __init__(self, prober: Database, reader: Database, vault: Vault) -> None:
        self._prober = prober
        self._reader = reader
        self._vault = vault

    async def bounds(self, window: Window) -> tuple[Position, Position]:
        """Return the first and last position of a window in the log as it is now; no last one lies in an empty log.

        Raises:
            BadInputError: the window is none, or reaches beyond the end of the log.
        """
        async with self._prober.connection() as connection:
            end = await head(connection)
        last = end if window.last is None else window.last
        if window.last is not None and window.first > window.last:
            raise BadInputError(f"position {window.first} lies behind position {window.last}; turn them round")
        for position in (window.first, last):
            if position > 0:  # an empty log ends before its first position, and there is nothing to say against it
                within(position, end)
        return window.first, last

    async def replay(self, tenant: TenantId, window: Window) -> AsyncIterator[tuple[Position, list[Entry]]]:
        """Yield events in order, stretch by stretch, each with the position it was read up to; memory stays bounded.

        Raises:
            BadInputError: see `bounds`.
            TamperError: a column that was asked contradicts its envelope.
        """
        first, last = await self.bounds(window)
        position = Position(first - 1)
        while position < last:
            upto = Position(min(position + _WINDOW, last))
            async with self._prober.connection() as connection:
                events = await read_window(
                    connection, tenant, (position, upto), subject=window.subject, kind=window.kind
                )
            yield upto, await self._told(events)
            position = upto

    async def _told(self, events: Sequence[StoredEvent]) -> list[Entry]:
        by_person: dict[Scope, list[StoredEvent]] = defaultdict(list)
        for event in events:
            if event.parts:
                by_person[event.scope].append(event)
        parts: dict[EventId, tuple[Told, ...]] = {}
        for scope, own in by_person.items():
            async with self._reader.transaction(scope) as connection:
                parts |= await self._parts(connection, scope, own)
        return [Entry(event, parts.get(event.event_id, ())) for event in events]

    async def _parts(
        self, connection: Connection, scope: Scope, events: Sequence[StoredEvent]
    ) -> dict[EventId, tuple[Told, ...]]:
        try:
            keyring = await self._vault.keyring(scope)
        except ScopeError:  # the person's keys are gone altogether
            keyring = None
        opened = await _open(connection, keyring, events)
        blind = set[Place]() if keyring is None else await _blind(connection, keyring, events, opened)
        keys = {part.key_id for event in events for part in event.parts}
        stones = await fenced(connection, scope, keys)  # read last, whatever was opened before
        ended = await expired(connection, scope, stones)

        def told(event: StoredEvent, name: str, key_id: KeyId) -> Told:
            body = opened.get((event.event_id, name))
            if key_id in stones:
                return Told(name, key_id, "expired" if key_id in ended else "forgotten")
            if name == INDEX_PART:
                return Told(name, key_id, "sealed")
            if (event.event_id, name) in blind:
                return Told(name, key_id, "consent_withdrawn")
            if isinstance(body, bytes):
                return Told(name, key_id, "open", orjson.loads(body))
            return Told(name, key_id, "tampered" if isinstance(body, Tampered) else "lost")

        return {event.event_id: tuple(told(event, part.name, part.key_id) for part in event.parts) for event in events}


async def _open(connection: Connection, keyring: Keyring | None, events: Sequence[StoredEvent]) -> dict[Place, Opened]:
    wanted = [(event, part.name) for event in events for part in event.parts if part.name != INDEX_PART]
    if keyring is None:
        return {(event.event_id, name): Lost(key) for event, name in wanted for key in _key_of(event, name)}
    return await open_bodies(connection, keyring, wanted)


async def _blind(
    connection: Connection, keyring: Keyring, events: Sequence[StoredEvent], opened: Mapping[Place, Opened]
) -> set[Place]:
    """Find the parts that hold a memory whose class was withdrawn, or what was said of one."""
    withdrawn = (await read_consents(connection, keyring.scope)).withdrawn
    if not withdrawn:
        return set()
    memories = {
        place
        for place, body in opened.items()
        if place[1] == MEMORY_PART and isinstance(body, bytes) and orjson.loads(body).get("sensitivity") in withdrawn
    }
    turns = {event.turn_id: stored for stored in events if isinstance(event := stored.event, TurnFinalized)}
    silence = await silence_of(connection, keyring, turns)
    return memories | {
        (stored.event_id, message_part(head.message_id))
        for turn, stored in turns.items()
        if isinstance(stored.event, TurnFinalized)
        for head in stored.event.messages
        if silence.why(turn, head.message_id, head.origin) == "consent_withdrawn"
    }


def _key_of(event: StoredEvent, name: str) -> list[KeyId]:
    return [part.key_id for part in event.parts if part.name == name]
