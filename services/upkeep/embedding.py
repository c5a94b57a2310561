"""Making the vectors of another model for what is current, following the log (R54)."""

import asyncio
from base64 import b64encode
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import ClassVar, Final
from uuid import uuid5

from events.bodies import open_bodies
from events.envelope import Command, DataKey, NewEvent, Part, StoredEvent, memory_stream
from events.errors import ConcurrencyError, ErasedError
from events.keyring import Keyring
from events.log import append, read_embedded, read_events
from events.model import (
    MEMORY_PART,
    Accepted,
    CommandId,
    Embedded,
    EventId,
    KeyId,
    MemoryBody,
    Scope,
    VectorBody,
)
from events.postgres import Connection, Database
from events.vault import Vault
from projections.changes import CURRENT, fold, sources_of, touched_by
from projections.facts import newer_events, read_memories
from projections.index import PART as INDEX
from projections.index import index_bodies, vector_part
from projections.model_names import NOWHERE
from projections.models import EmbeddingModel, Models
from services.upkeep.job import ACTOR

_TRIES: Final = 8
_PARTS: Final = (MEMORY_PART, INDEX)


class Embedding:
    """Appends `embedded` for every current version that has no vector of the model it is told to use.

    The place in its checkpoint is that model. A version that is superseded, forgotten, merged or cold by now is passed
    over; the person's stream must not have moved, so no vector is appended behind a tombstone.

    Args:
        eraser: a pool under `cenotaph_eraser`.
        vault: with the right to open keys.
        models: the model is one of them.
    """

    name: ClassVar[str] = "embed"
    version: ClassVar[int] = 1

    def __init__(self, eraser: Database, vault: Vault, models: Models) -> None:
        self._eraser = eraser
        self._vault = vault
        self._models = models

    async def create(self, connection: Connection, place: str) -> None:
        """Nothing is kept."""

    async def apply(self, connection: Connection, place: str, events: Sequence[StoredEvent]) -> None:
        """Embed what a batch brings into being or back; a batch that is repeated finds it done."""
        if place == NOWHERE:
            return
        model = self._models.of(place)
        sources = [source for each in events if not isinstance(each.event, Embedded) for source in sources_of(each)]
        brought = (await read_events(connection, sources)).values() if sources else ()
        wanted: dict[Scope, set[EventId]] = {}
        for stored in (*events, *brought):
            if isinstance(stored.event, Accepted):
                wanted.setdefault(stored.scope, set()).add(stored.event_id)
        for scope, versions in wanted.items():
            with suppress(ErasedError):  # all that is theirs is gone
                await self._embed(scope, versions, model)

    async def swap(self, connection: Connection, place: str, built: str) -> str:
        """Nothing is kept, so nothing is swapped."""
        del connection, built
        return place

    async def _embed(self, scope: Scope, versions: Collection[EventId], model: EmbeddingModel) -> None:
        keyring = await self._vault.keyring(scope)
        for attempt in range(_TRIES):
            found = await self._lacking(keyring, versions, model.model_id)
            if found is None:
                return
            version, texts, keys = found
            vectors = await model.embed_passages(list(texts.values()))
            parts = tuple(
                Part(vector_part(source), VectorBody(vector=b64encode(vector.tobytes()).decode()), keys[source])
                for source, vector in zip(texts, vectors, strict=True)
            )
            event = Embedded(model=model.model_id, sources=tuple(texts))
            command = Command(
                CommandId(uuid5(scope.subject_id, f"embed|{model.model_id}|{'|'.join(map(str, texts))}")),
                scope,
                memory_stream(scope.subject_id),
                version,
                ACTOR,
                (NewEvent(event, datetime.now(UTC), parts),),
            )
            async with self._eraser.transaction() as connection:
                (answer,) = await append(connection, [command])
            if answer.outcome != "conflict":
                return
            await asyncio.sleep(0.005 * 2**attempt)
        raise ConcurrencyError(memory_stream(scope.subject_id), version)

    async def _lacking(
        self, keyring: Keyring, versions: Collection[EventId], model: str
    ) -> tuple[int, dict[EventId, str], dict[EventId, DataKey]] | None:
        """Say which of these versions are current and lack a vector: the stream's version, their texts and keys."""
        scope = keyring.scope
        async with self._eraser.transaction() as connection:
            await connection.execute("set transaction isolation level repeatable read")
            events = await read_events(connection, versions)
            newer, version = await newer_events(connection, scope)
            memories = {each.event.memory_id for each in events.values() if isinstance(each.event, Accepted)}
            state = fold(await read_memories(connection, scope, memories | touched_by(newer)), newer)
            living = {fact.event_id for fact in state.values() if fact.status in CURRENT and not fact.cold}
            made = await read_embedded(connection, scope, memory_stream(scope.subject_id), version + 1)
            done = {
                source
                for each in made
                if isinstance(event := each.event, Embedded) and event.model == model
                for source in event.sources
            }
            open_ = [event for event in events.values() if event.event_id in living - done and event.part(INDEX)]
            opened = await open_bodies(connection, keyring, ((each, part) for each in open_ for part in _PARTS))
        with_index = index_bodies({place: body for place, body in opened.items() if place[1] == INDEX})
        texts = {
            each.event_id: MemoryBody.model_validate_json(body).content
            for each in open_
            if isinstance(body := opened[each.event_id, MEMORY_PART], bytes)
            and each.event_id in with_index
            and with_index[each.event_id].model != model
        }
        ids: dict[EventId, KeyId] = {
            each.event_id: part.key_id
            for each in open_
            if each.event_id in texts and (part := each.part(INDEX)) is not None
        }
        secrets = await keyring.load(ids.values())
        keys = {source: DataKey(key_id, secrets[key_id]) for source, key_id in ids.items() if key_id in secrets}
        texts = {source: text for source, text in texts.items() if source in keys}
        return (version, texts, keys) if texts else None
