"""Working memory as a layer: texts of running tasks that say what was forgotten without resting on it (R42, R52).

What rests on it goes with the tombstone itself, which names its keys (`services/forgetting/selection.py`). What merely
says it is looked for here, and goes by an `expired` of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Final
from uuid import uuid5

from events import failpoint
from events.bodies import Lost, Shredded, open_bodies
from events.envelope import Command, NewEvent, StoredEvent, event_id_of
from events.log import append, read_events
from events.model import CommandId, EventId, Expired, ItemBody, KeyId, LayerFinding, Scope
from events.postgres import Connection, Database, readers_of
from events.vault import Vault
from projections.follower import position_of
from projections.task_state import item_part
from projections.tasks import Tasks
from services.forgetting.layers import finding
from services.forgetting.question import Question
from services.forgetting.said import says
from services.forgetting.tables import Followed

_ACTOR: Final = "worker:erase"
_LIVING: Final = """
select item_id, event_id, key_id from tasks.item where tenant_id = $1 and subject_id = $2
"""
_RESTING: Final = """
select count(*) from tasks.item where tenant_id = $1 and not gone
  and (memories && $2::uuid[] or messages && $3::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a running task, opened, and the event that sealed it."""

    event: StoredEvent
    key_id: KeyId
    text: str


class TaskTexts:
    """Forgets the texts of running tasks.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        vault: under `vault_eraser`.
    """

    name: ClassVar[str] = "task_state"

    def __init__(self, eraser: Database, vault: Vault) -> None:
        self._eraser = eraser
        self._vault = vault
        self._followed = Followed(self.name, Tasks.name, eraser)

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Wait until the task store has seen the tombstone, then destroy the texts that say what it names."""
        await self._followed.erase(tombstone, question)
        async with self._eraser.connection() as connection:
            saying = _saying(await _open(connection, self._vault, question.scope), question)
        if not saying:
            return
        commands = [_expired(tombstone, each) for each in saying]
        async with self._eraser.transaction() as connection:
            await append(connection, commands)
        failpoint.hit("erase.task_texts")
        await self._vault.destroy(question.scope, [each.key_id for each in saying])
        async with self._eraser.connection() as connection:
            for command in commands:
                await connection.fetchval("select log.remove_bodies_v1($1)", event_id_of(command.command_id, 0))


class TaskTextsProbe:
    """Looks at the texts of running tasks over the prober's connection.

    Args:
        prober: a pool under `cenotaph_prober`.
        vault: under `vault_opener`.
    """

    layer: ClassVar[str] = "task_state"

    def __init__(self, prober: Database, vault: Vault) -> None:
        self._prober = prober
        self._vault = vault

    async def ask(self, question: Question) -> LayerFinding:
        """Count the texts that rest on what is forgotten, and those that say it."""
        async with self._prober.connection() as connection:
            position = await position_of(connection, Tasks.name)  # first: what is read afterwards is at least as new
            resting = await connection.fetchval(
                _RESTING, question.scope.tenant_id, list(question.memories), list(question.messages)
            )
            saying = _saying(await _open(connection, self._vault, question.scope), question)
        checks = {"by_id": resting, "exact_text": len(saying)}
        queries = {"by_id": _RESTING, "exact_text": "the texts of the person's running tasks, opened, that say it"}
        return finding(self.layer, checks, "absent", queries, position=position)

    async def readers(self) -> Sequence[str]:
        """Name the roles that may select from the table."""
        async with self._prober.connection() as connection:
            return await readers_of(connection, "tasks.item")


async def _open(connection: Connection, vault: Vault, scope: Scope) -> list[Text]:
    """Open the texts of one person's running tasks."""
    rows = await connection.fetch(_LIVING, scope.tenant_id, scope.subject_id)
    if not rows:
        return []
    keyring = await vault.keyring(scope)
    events = await read_events(connection, {EventId(row["event_id"]) for row in rows})
    places = {(EventId(row["event_id"]), item_part(row["item_id"])): KeyId(row["key_id"]) for row in rows}
    opened = await open_bodies(connection, keyring, ((events[event], name) for event, name in places))
    return [
        Text(events[place[0]], places[place], ItemBody.model_validate_json(body).text)
        for place, body in opened.items()
        if not isinstance(body, Shredded | Lost)
    ]


def _saying(texts: Iterable[Text], question: Question) -> list[Text]:
    """Return the texts that say what is forgotten; written by an agent, they are never the person's saying it anew."""
    return [each for each in texts if says(each.text, question.texts)]


def _expired(tombstone: StoredEvent, each: Text) -> Command:
    event = Expired(memories=(), messages=(), keys=(each.key_id,))
    return Command(
        CommandId(uuid5(tombstone.event_id, str(each.key_id))),
        tombstone.scope,
        each.event.stream,
        None,
        _ACTOR,
        (NewEvent(event, datetime.now(UTC)),),
    )
