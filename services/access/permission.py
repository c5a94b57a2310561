"""What may be read of memories that are suspended or of a closed class (R13.8, R22): one rule for every read path."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from events.envelope import considered_command
from events.keyring import Keyring
from events.log import read_commands
from events.model import (
    ANSWERS,
    Accepted,
    CandidateProposed,
    MemoryBody,
    MemoryId,
    NotWritten,
    Origin,
    PurposeId,
    Reinforced,
    Scope,
    TurnId,
)
from events.postgres import Connection, entire
from projections.changes import Fact, fold, touched_by
from projections.choices import Consents, read_consents
from projections.facts import newer_events, read_memories
from projections.memories import open_memories
from services.access.rights import TokenRole
from services.profile.fields import Closed, shipped_fields

Withheld = Literal["consent_withdrawn", "needs_consent", "suspended"] | Closed
Why = Literal["consent_withdrawn", "needs_consent", "refused", "suspended"]


@dataclass(frozen=True, slots=True)
class Permission:
    """What a reader may see. The person sees everything, marked, so as to decide; an agent what is open to it."""

    reader: TokenRole
    consents: Consents
    purpose: PurposeId | None = None

    def withheld(self, fact: Fact, body: MemoryBody) -> Withheld | None:
        """Say why an agent may not read a memory version or a held candidate, None where it may."""
        if fact.suspended:
            return "suspended"
        if body.sensitivity in self.consents.withdrawn:
            return "consent_withdrawn"
        if self.consents.bar(body.sensitivity, fact.purpose if self.reader is TokenRole.PERSON else self.purpose):
            return "needs_consent"
        # only what was held and never confirmed has a gate, whatever became of it later
        waits = fact.gate is not None and body.sensitivity is not None
        if waits and body.sensitivity not in self.consents.given:
            return "needs_consent"
        field = shipped_fields().get(body.key or "")
        return None if field is None else field.closed(fact.verified_at, datetime.now(UTC))

    def opens(self, withheld: Withheld | None) -> bool:
        """Tell whether the reader sees what is withheld for this reason."""
        return withheld is None or self.reader is TokenRole.PERSON


async def permission_of(connection: Connection, scope: Scope, reader: TokenRole) -> Permission:
    """Read what the person chose; it holds for a reader from its commit on."""
    return Permission(reader, await read_consents(connection, scope), scope.audience.purpose)


@dataclass(frozen=True, slots=True)
class Silence:
    """What was said of memories that are blind: the messages, and the turns whose answers may repeat them."""

    messages: Mapping[UUID, Why]
    turns: Mapping[UUID, Why]

    def why(self, turn: UUID, message: UUID, origin: Origin) -> Why | None:
        """Say why a message is not shown, None where it is."""
        return self.messages.get(message) or (self.turns.get(turn) if origin in ANSWERS else None)


async def silence_of(connection: Connection, keyring: Keyring, turns: Collection[TurnId]) -> Silence:
    """Find in some turns what said a memory that was refused or suspended, or whose class is closed to the reader.

    An answer goes with what it answers, and with the context that was injected into its turn. Read off the log, so that
    it holds from the commit on; a memory that a turn says again was said there too. What is said in a project may
    be a private memory, so all of the person is looked at, however far the reader reaches.
    """
    purpose = keyring.scope.audience.purpose
    if keyring.scope.reach is None:
        return await _silence_of(connection, keyring, turns, purpose)
    async with entire(connection, keyring.scope):
        return await _silence_of(connection, keyring.entire(), turns, purpose)


async def _silence_of(
    connection: Connection, keyring: Keyring, turns: Collection[TurnId], purpose: PurposeId | None
) -> Silence:
    scope = keyring.scope
    said = await _said(connection, turns)
    injected = await _injected(connection, scope, turns)
    wanted = {memory for _, memory, _ in said} | {memory for _, memory in injected}
    newer, _ = await newer_events(connection, scope)
    known = await read_memories(connection, scope, wanted | touched_by(newer))
    facts = [fact for fact in fold(known, newer).values() if fact.memory_id in wanted]
    # a forgotten one takes its messages along, so this concerns only what is refused, which leaves them
    why: dict[MemoryId, Why] = {fact.memory_id: "refused" for fact in facts if fact.status == "forgotten"}
    why |= {fact.memory_id: "suspended" for fact in facts if fact.suspended and fact.memory_id not in why}
    consents = await read_consents(connection, scope)
    if consents.withdrawn or consents.purposes:
        standing = [fact for fact in facts if fact.status not in {"forgotten", "expired"}]
        opened = await open_memories(connection, keyring, standing)
        for fact in standing:
            body = opened.get(fact.event_id)
            if isinstance(body, MemoryBody) and body.sensitivity in consents.withdrawn:
                why[fact.memory_id] = "consent_withdrawn"
            elif isinstance(body, MemoryBody) and consents.bar(body.sensitivity, purpose):
                why[fact.memory_id] = "needs_consent"
    messages: dict[UUID, Why] = {}
    answered: dict[UUID, Why] = {turn: why[memory] for turn, memory in injected if memory in why}
    for turn, memory, cited in said:
        if memory in why:
            answered[turn] = why[memory]
            messages |= dict.fromkeys(cited, why[memory])
    return Silence(messages, answered)


async def _said(connection: Connection, turns: Collection[TurnId]) -> list[tuple[TurnId, MemoryId, frozenset[UUID]]]:
    """Say of every memory and held candidate of some turns which messages said it there."""
    events = [each.event for each in await read_commands(connection, [considered_command(turn) for turn in turns])]
    cited = {
        event.candidate_id: frozenset[UUID](pointer.message_id for pointer in event.pointers)
        for event in events
        if isinstance(event, CandidateProposed)
    }
    said = []
    for event in events:
        if isinstance(event, Accepted | Reinforced):
            said.append((event.turn_id, event.memory_id, cited.get(event.candidate_id, frozenset())))
        elif isinstance(event, NotWritten):
            own = event.candidate_id if event.repeats is None else event.repeats
            said.append((event.turn_id, own, cited.get(event.candidate_id, frozenset())))
    return said


async def _injected(connection: Connection, scope: Scope, turns: Collection[TurnId]) -> list[tuple[TurnId, MemoryId]]:
    """Say which memories stood in the contexts that were injected into some turns."""
    rows = await connection.fetch(
        # the limit keeps the planner from reading all reads of the person, which it takes for few
        """select t.turn_id, unnest(r.memories) as memory_id
           from sessions.turn t cross join lateral unnest(t.contexts) as c(read_id) cross join lateral (
             select r.memories from ops.read r
             where r.read_id = c.read_id and r.tenant_id = t.tenant_id and r.subject_id = t.subject_id limit 1) r
           where t.tenant_id = $1 and t.subject_id = $2 and t.turn_id = any($3::uuid[])""",
        scope.tenant_id,
        scope.subject_id,
        list(turns),
    )
    return [(TurnId(row["turn_id"]), MemoryId(row["memory_id"])) for row in rows]
