"""What somebody asks to be forgotten at once, and what that is in the log (R40)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from events.envelope import StoredEvent, turns_stream
from events.keyring import Keyring
from events.log import fenced, read_stream_behind, read_turns
from events.model import (
    ForgetScope,
    Kind,
    MemoryId,
    MessageId,
    Scope,
    SessionId,
    SuppressionAsked,
    Tombstoned,
    TurnFinalized,
    TurnId,
)
from events.postgres import Connection
from projections.changes import fold, together, within
from projections.follower import position_of
from projections.sessions import messages_by_id, turns_of_session, turns_resting_on, turns_with_contexts
from projections.working import keys_resting_on
from services.forgetting.plan import Going, of_kind, plan, said_in, traces, with_made
from services.wire.names import message_name
from services.wire.receipts import What


@dataclass(frozen=True, slots=True)
class Wanted:
    """One memory, one message of a turn, one session, or one kind, by internal ids."""

    scope: ForgetScope
    target: UUID | None = None
    turn: TurnId | None = None
    kind: Kind | None = None

    def names(self, event: Tombstoned) -> bool:
        """Tell whether a tombstone was written for the same wish."""
        if self.scope == "memory":
            return self.target in event.memories
        return (event.scope, event.target, event.kind) == (self.scope, self.target, self.kind)


@dataclass(frozen=True, slots=True)
class Selected:
    """What would go, and whether any of it can still be read."""

    going: Going
    event: Tombstoned
    anew: bool


def digest_of(event: Tombstoned) -> str:
    """Name exactly what a tombstone names, for a preview to be confirmed with."""
    parts = (event.memories, event.messages, event.turns, event.orphaned)
    named = "|".join(",".join(sorted(map(str, part))) for part in parts)
    return sha256(f"{event.scope}|{event.target}|{event.kind}|{named}".encode()).hexdigest()


async def wanted_of(keyring: Keyring, what: What) -> Wanted | None:
    """Find a message, a session or a kind by the ids the caller gave it; None where there is nothing such."""
    if what.kind is not None:
        return Wanted("kind", kind=what.kind)
    if what.session_id is not None:
        session = await keyring.find(("session", what.session_id))
        return None if session is None else Wanted("session", session)
    if what.message is not None:
        turn = await keyring.find(("turn", what.message.turn_id))
        message = await keyring.find(message_name(what.message.turn_id, what.message.message_id))
        return None if turn is None or message is None else Wanted("message", message, TurnId(turn))
    return None


async def select(
    connection: Connection,
    scope: Scope,
    stream: Sequence[StoredEvent],
    wanted: Wanted,
    echoes: Mapping[MessageId, TurnId] | None = None,
) -> Selected | None:
    """Name all that goes; None where there is nothing such, and never was.

    The turns of a session come from the session store and from what it has not seen of the log yet. Of a kind goes what
    the scope reaches; the transaction sees all of the person. `echoes` go beside it (`services/forgetting/echoes.py`).
    """
    within_reach = reached(stream, scope)
    turns = await _turns(connection, scope, wanted)
    messages = _messages(turns, wanted)
    memories = _memories(stream, wanted, messages)
    if wanted.kind is not None:
        memories = [each for each in memories if each in within_reach]
    found = {memory: each for memory, each in traces(stream, memories).items() if each.versions}
    if not found and not messages:
        return None
    own = frozenset(turn.event.turn_id for turn in turns if isinstance(turn.event, TurnFinalized))
    own |= await _sources(connection, scope, {turn for each in found.values() for turn in each.turns})
    going = Going(found, messages, own, entirely=wanted.scope == "session", echoes=echoes or {})
    event = await _planned(connection, scope, stream, going)
    if made := await _made_of(connection, scope, event.messages):
        going = with_made(stream, going, made)
        event = await _planned(connection, scope, stream, going)
    resting = await keys_resting_on(connection, scope, event.memories, event.messages)
    # what merely says it too was not asked for, nor the wish in it
    lifted = suppressions_said_in(stream, messages) if wanted.scope in {"message", "session"} else []
    keys = tuple(dict.fromkeys((*event.keys, *resting, *(part.key_id for each in lifted for part in each.parts))))
    event = event.model_copy(update={"memories": (*event.memories, *suppressions_of(lifted))})
    event = event.model_copy(update={"scope": wanted.scope, "target": wanted.target, "kind": wanted.kind, "keys": keys})
    if wanted.scope == "memory":
        event = event.model_copy(update={"target": None})
    anew = {*found, *event.messages} - await fenced(connection, scope, {*found, *event.messages})
    return Selected(going, event, anew=bool(anew))


def suppressions_said_in(stream: Sequence[StoredEvent], messages: Collection[MessageId]) -> list[StoredEvent]:
    """Return what asked, in one of these messages, not to remember something: whoever forgets the message lifts it.

    Its words are those of the message, so nothing of them may stay.
    """
    return [each for each in stream if isinstance(each.event, SuppressionAsked) and {*each.event.cites} & {*messages}]


def suppressions_of(asked: Sequence[StoredEvent]) -> tuple[MemoryId, ...]:
    """Name the suppressions that some events asked for."""
    return tuple(each.event.suppression_id for each in asked if isinstance(each.event, SuppressionAsked))


def reached(stream: Sequence[StoredEvent], scope: Scope) -> frozenset[MemoryId]:
    """Name the memories and held candidates that a scope reaches, living or not."""
    return frozenset(memory for memory, _ in within(fold({}, stream), scope))


async def _planned(connection: Connection, scope: Scope, stream: Sequence[StoredEvent], going: Going) -> Tombstoned:
    said = await read_turns(connection, sorted(going.said))
    injected = await read_turns(connection, sorted(await _injected(connection, scope, going.found)))
    return plan(stream, going, said, injected)


async def _sources(connection: Connection, scope: Scope, turns: Collection[TurnId]) -> frozenset[TurnId]:
    """Name the turns of the person that some turns of upkeep were made of."""
    read = await read_turns(connection, sorted(turns))
    rested = {each for turn in read if isinstance(turn.event, TurnFinalized) for each in turn.event.rests_on}
    rows = await messages_by_id(connection, scope, rested) if rested else []
    return frozenset(row.turn_id for row in rows)


async def _made_of(connection: Connection, scope: Scope, messages: Collection[MessageId]) -> list[StoredEvent]:
    """Read the turns that upkeep made of some messages."""
    wanted = {*messages}
    newer = {turn.turn_id for turn in await _unfollowed(connection, scope) if wanted.intersection(turn.rests_on)}
    return await read_turns(connection, sorted(newer | await turns_resting_on(connection, scope, wanted)))


async def _turns(connection: Connection, scope: Scope, wanted: Wanted) -> list[StoredEvent]:
    if wanted.scope == "message" and wanted.turn is not None:
        return await read_turns(connection, [wanted.turn])
    if wanted.scope != "session" or wanted.target is None:
        return []
    session = SessionId(wanted.target)
    newer = {turn.turn_id for turn in await _unfollowed(connection, scope) if turn.session_id == session}
    return await read_turns(connection, sorted(newer | await turns_of_session(connection, scope, session)))


def _messages(turns: Sequence[StoredEvent], wanted: Wanted) -> frozenset[MessageId]:
    """Say which messages go by themselves."""
    every = {head.message_id for turn in turns if isinstance(turn.event, TurnFinalized) for head in turn.event.messages}
    return frozenset(every if wanted.scope == "session" else {each for each in every if each == wanted.target})


def _memories(stream: Sequence[StoredEvent], wanted: Wanted, messages: frozenset[MessageId]) -> Collection[MemoryId]:
    if wanted.scope == "memory" and wanted.target is not None:
        return together(stream, MemoryId(wanted.target))
    if wanted.kind is not None:
        return of_kind(stream, wanted.kind)
    return said_in(stream, messages)


async def _injected(connection: Connection, scope: Scope, memories: Collection[MemoryId]) -> set[TurnId]:
    """Say into which turns a context that held one of the memories was injected."""
    rows = await connection.fetch(
        "select read_id from ops.read where tenant_id = $1 and subject_id = $2 and memories && $3::uuid[]",
        scope.tenant_id,
        scope.subject_id,
        list(memories),
    )
    contexts = {UUID(str(row["read_id"])) for row in rows}
    if not contexts:
        return set()
    followed = await turns_with_contexts(connection, scope, contexts)
    return followed | {turn.turn_id for turn in await _unfollowed(connection, scope) if contexts & {*turn.contexts}}


async def _unfollowed(connection: Connection, scope: Scope) -> list[TurnFinalized]:
    """Read the turns the session store has not seen yet: a forget may come right behind the turn."""
    followed = await position_of(connection, "sessions")
    stream = await read_stream_behind(connection, scope, turns_stream(scope.subject_id), followed)
    return [each.event for each in stream if isinstance(each.event, TurnFinalized)]
