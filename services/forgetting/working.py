"""Working memory as two layers: texts of running tasks and of summaries that say what was forgotten (R42, R51, R52).

What rests on it goes with the tombstone itself, which names its keys (`services/forgetting/selection.py`). What merely
says it is looked for here, and goes by an `expired` of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal
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
from services.forgetting.layers import finding
from services.forgetting.question import Question
from services.forgetting.said import says
from services.forgetting.tables import Followed

_ACTOR: Final = "worker:erase"


@dataclass(frozen=True, slots=True)
class Store:
    """Where texts of working memory are listed.

    Args:
        layer: its name in receipts.
        model: the read model it belongs to.
        table: the table of its texts.
    """

    layer: str
    model: str
    table: Literal["tasks.item", "sessions.summary_item"]

    @property
    def living(self) -> str:
        """The query for one person's texts."""
        return f"select item_id, event_id, key_id from {self.table} where tenant_id = $1 and subject_id = $2"  # noqa: S608 - our own table

    @property
    def resting(self) -> str:
        """The query that counts texts that rest on what is forgotten."""
        return (
            f"select count(*) from {self.table} where tenant_id = $1 and not gone"  # noqa: S608 - our own table
            " and (memories && $2::uuid[] or messages && $3::uuid[])"
        )


TASKS: Final = Store("task_state", "tasks", "tasks.item")
SUMMARIES: Final = Store("summary_store", "sessions", "sessions.summary_item")


@dataclass(frozen=True, slots=True)
class Text:
    """A text, opened, and the event that sealed it."""

    event: StoredEvent
    key_id: KeyId
    text: str


class WorkingTexts:
    """Forgets texts of working memory.

    Args:
        store: where they are listed.
        eraser: a pool under `cenotaph_eraser`.
        vault: under `vault_eraser`.
    """

    def __init__(self, store: Store, eraser: Database, vault: Vault) -> None:
        self.name = store.layer
        self._store = store
        self._eraser = eraser
        self._vault = vault
        self._followed = Followed(self.name, store.model, eraser)

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Wait until the read model has seen the tombstone, then destroy the texts that say what it names."""
        await self._followed.erase(tombstone, question)
        async with self._eraser.connection() as connection:
            saying = _saying(await _open(connection, self._store, self._vault, question.scope), question)
        if not saying:
            return
        commands = [_expired(tombstone, each) for each in saying]
        async with self._eraser.transaction() as connection:
            await append(connection, commands)
        failpoint.hit("erase.working")
        await self._vault.destroy(question.scope, [each.key_id for each in saying])
        async with self._eraser.connection() as connection:
            for command in commands:
                await connection.fetchval("select log.remove_bodies_v1($1)", event_id_of(command.command_id, 0))


class WorkingTextsProbe:
    """Looks at texts of working memory over the prober's connection.

    Args:
        store: where they are listed.
        prober: a pool under `cenotaph_prober`.
        vault: under `vault_opener`.
    """

    def __init__(self, store: Store, prober: Database, vault: Vault) -> None:
        self.layer = store.layer
        self._store = store
        self._prober = prober
        self._vault = vault

    async def ask(self, question: Question) -> LayerFinding:
        """Count the texts that rest on what is forgotten, and those that say it."""
        async with self._prober.connection() as connection:
            position = await position_of(
                connection, self._store.model
            )  # first: what is read afterwards is at least as new
            resting = await connection.fetchval(
                self._store.resting, question.scope.tenant_id, list(question.memories), list(question.messages)
            )
            saying = _saying(await _open(connection, self._store, self._vault, question.scope), question)
        checks = {"by_id": resting, "exact_text": len(saying)}
        queries = {"by_id": self._store.resting, "exact_text": "the person's texts, opened, that say it"}
        return finding(self.layer, checks, "absent", queries, position=position)

    async def readers(self) -> Sequence[str]:
        """Name the roles that may select from the table."""
        async with self._prober.connection() as connection:
            return await readers_of(connection, self._store.table)


async def _open(connection: Connection, store: Store, vault: Vault, scope: Scope) -> list[Text]:
    """Open one person's texts."""
    rows = await connection.fetch(store.living, scope.tenant_id, scope.subject_id)
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
