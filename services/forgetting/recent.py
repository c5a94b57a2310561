"""Recent turns as a layer: messages by id, and those that say what is forgotten in another place (R41, R42, R50).

What says it too when it is forgotten goes with the tombstone itself, among the newest messages
(`services/forgetting/echoes.py`). What lies further back, or was only considered later, is looked for here, and goes by
an `expired` of its own. Messages in which the person said it anew, those that are the words of another living memory
that says the same, and the person's own repetition of a message of which nothing was made are neighbours: nobody asked
for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Final
from uuid import uuid5

from events.envelope import Command, NewEvent, StoredEvent, event_id_of, memory_stream
from events.log import append, fenced, read_events
from events.model import (
    MEMORY_PART,
    CommandId,
    EventId,
    Expired,
    KeyId,
    LayerFinding,
    MemoryBody,
    MessageBody,
    MessageId,
    Origin,
)
from events.postgres import Connection, Database, Row, readers_of
from events.vault import Vault
from projections.changes import CITING
from projections.follower import position_of
from projections.sessions import message_part
from services.forgetting.echoes import Sayings
from services.forgetting.layers import State, finding
from services.forgetting.prepare import open_raw
from services.forgetting.question import Question
from services.forgetting.tables import Followed

_ACTOR: Final = "worker:erase"
_PAGE: Final = 500
_BY_ID: Final = (
    "select count(*) from sessions.message where tenant_id = $1 and message_id = any($2::uuid[]) and not forgotten"
)
# a turn whose job is a dead letter is not waited for; what is considered later may still become a memory of its own
_STANDING: Final = """
select m.message_id, m.origin, m.key_id, t.event_id, least(t.occurred_at, t.recorded_at) as said_at,
  t.considered or exists (
    select from ops.dead_letter d where d.stream = 'remember' and d.position = t.position) as settled
from sessions.message m join sessions.turn t using (tenant_id, turn_id)
where m.tenant_id = $1 and m.subject_id = $2 and not m.forgotten and m.message_id <> all($3::uuid[])
order by m.message_id
"""
_RESTING: Final = """
select event_id, cites from facts.memory
where tenant_id = $1 and subject_id = $2 and status = any($3::text[]) and memory_id <> all($4::uuid[])
  and cites && $5::uuid[]
"""
_QUERIES: Final = {
    "messages": _BY_ID,
    "exact_text": "every standing message of the person, opened past the fence, that says it word for word",
    "neighbours": "those that say it anew, or in their own right",
    "asked": "messages that opened",
}


@dataclass(frozen=True, slots=True)
class Lived:
    """A standing message that says what is forgotten; `own` tells that it stays, as nobody asked for it."""

    message_id: MessageId
    key_id: KeyId
    settled: bool
    own: bool


class RecentTurns:
    """Forgets messages.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        vault: under `vault_eraser`.
    """

    name: ClassVar[str] = "recent_turns"

    def __init__(self, eraser: Database, vault: Vault) -> None:
        self._eraser = eraser
        self._vault = vault
        self._followed = Followed(self.name, "sessions", eraser)

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Wait until the session store has seen the tombstone, then destroy the messages that say what it names."""
        await self._followed.erase(tombstone, question)
        async with self._eraser.connection() as connection:
            _, lived = await _lived(connection, self._vault, question)
            gone = await fenced(connection, question.scope, (each.message_id for each in lived))
        going = [each for each in lived if each.settled and not each.own and each.message_id not in gone]
        if not going:
            return
        command = _expired(tombstone, going)
        async with self._eraser.transaction() as connection:
            await append(connection, [command])
        await self._vault.destroy(question.scope, [each.key_id for each in going])
        async with self._eraser.connection() as connection:
            await connection.fetchval("select log.remove_bodies_v1($1)", event_id_of(command.command_id, 0))


class RecentTurnsProbe:
    """Opens the person's messages over the prober's connection, whatever the fence says.

    Args:
        prober: a pool under `cenotaph_prober`.
        vault: under `vault_opener`.
    """

    layer: ClassVar[str] = RecentTurns.name

    def __init__(self, prober: Database, vault: Vault) -> None:
        self._prober = prober
        self._vault = vault

    async def ask(self, question: Question) -> LayerFinding:
        """Count the messages that were named, and those that say what they said."""
        async with self._prober.connection() as connection:
            position = await position_of(connection, "sessions")  # first: what is read afterwards is at least as new
            named = await connection.fetchval(_BY_ID, question.scope.tenant_id, list(question.messages))
            asked, lived = await _lived(connection, self._vault, question)
        checks = {
            "messages": named,
            "exact_text": sum(not each.own for each in lived),
            "neighbours": sum(each.own for each in lived),
            "asked": asked,
        }
        state: State = "absent" if question.prepared else "cannot_prove"
        return finding(self.layer, checks, state, _QUERIES, position=position)

    async def readers(self) -> Sequence[str]:
        """Name the roles that may select from the table."""
        async with self._prober.connection() as connection:
            return await readers_of(connection, "sessions.message")


async def _lived(connection: Connection, vault: Vault, question: Question) -> tuple[int, list[Lived]]:
    """Open the person's messages page by page; return how many opened, and those that say what is forgotten."""
    scope = question.scope
    if not question.texts:
        return 0, []
    of_memories = Sayings.of(target.claim.content for target in question.targets)
    of_messages = Sayings.of((), question.messages_said)
    rows = await connection.fetch(_STANDING, scope.tenant_id, scope.subject_id, list(question.messages))
    keyring = await vault.keyring(scope)
    asked, saying = 0, list[tuple[Row, bool]]()
    for start in range(0, len(rows), _PAGE):
        page = rows[start : start + _PAGE]
        events = await read_events(connection, {EventId(row["event_id"]) for row in page})
        opened = await open_raw(connection, keyring, events.values())
        for row in page:
            body = opened.get((EventId(row["event_id"]), message_part(MessageId(row["message_id"]))))
            if body is None:
                continue
            asked += 1
            text = MessageBody.model_validate_json(body).content
            if of_memories.within(text):
                saying.append((row, row["said_at"] > question.forgotten_at))
            elif of_messages.within(text):
                saying.append((row, row["origin"] == Origin.USER or row["said_at"] > question.forgotten_at))
    resting = await _resting(connection, vault, question, [MessageId(row["message_id"]) for row, _ in saying])
    lived = [
        Lived(message, KeyId(row["key_id"]), row["settled"], own or of_memories.within(resting.get(message, "")))
        for row, own in saying
        for message in [MessageId(row["message_id"])]
    ]
    return asked, lived


async def _resting(
    connection: Connection, vault: Vault, question: Question, messages: Sequence[MessageId]
) -> Mapping[MessageId, str]:
    """Open what other living memories hold that rest on some messages, by message."""
    scope = question.scope
    rows = await connection.fetch(
        _RESTING, scope.tenant_id, scope.subject_id, list(CITING), list(question.memories), messages
    )
    if not rows:
        return {}
    events = await read_events(connection, {EventId(row["event_id"]) for row in rows})
    opened = await open_raw(connection, await vault.keyring(scope), events.values())
    found: dict[MessageId, str] = {}
    for row in rows:
        body = opened.get((EventId(row["event_id"]), MEMORY_PART))
        content = "" if body is None else MemoryBody.model_validate_json(body).content
        for message in row["cites"]:
            found[message] = f"{found.get(message, '')}\n{content}"
    return found


def _expired(tombstone: StoredEvent, going: Sequence[Lived]) -> Command:
    messages = tuple(each.message_id for each in going)
    event = Expired(memories=(), messages=messages, keys=tuple(each.key_id for each in going))
    return Command(
        CommandId(uuid5(tombstone.event_id, "|".join(map(str, messages)))),
        tombstone.scope.person,
        memory_stream(tombstone.scope.subject_id),
        None,
        _ACTOR,
        (NewEvent(event, datetime.now(UTC)),),
    )
