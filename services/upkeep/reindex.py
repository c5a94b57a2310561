"""Changing the embedding model: built beside, compared, switched at once, kept for a while, dropped (R54)."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from events import failpoint
from events.errors import BadInputError
from events.log import head, read_sealed
from events.model import Frozen, MemoryBody, MemoryId, Position, Scope
from events.postgres import Connection, Database, Row
from events.vault import Vault
from projections.exclusive import exclusive
from projections.facts import read_memories
from projections.follower import Follower
from projections.memories import open_memories
from projections.model_names import NOWHERE, default_model, place_of_model
from projections.models import EmbeddingModel, Models
from projections.unreadable import readable
from projections.vector_index import VectorsBeside
from services.upkeep.embedding import Embedding

_NEAREST: Final = 10
_EMBEDDED_AT_ONCE: Final = 50
_POLL_S: Final = 0.05
_UNSEALED: Final = """
select exists (select from log.event e left join log.sealed s using (seq) where e.type = 'embedded' and s.seq is null)
"""
_ROW: Final = "select name, position, place, model, until from read_model.checkpoint where name = $1 for update"
_SAMPLE: Final = """
select tenant_id, subject_id, memory_id from facts.memory where status = 'current' and not cold
order by md5(memory_id::text || $1) limit $2
"""


class Comparison(Frozen):
    """How the index that is built answers beside the one that serves, asked for `queries` memories by their own words.

    `overlap` is the mean share of the ten nearest that both name; `first_*` the share of queries whose own memory came
    first.
    """

    serving: str
    built: str
    queries: int
    overlap: float
    first_serving: float
    first_built: float


class Standing(Frozen):
    """Which model serves, and which is built beside it or kept after it served."""

    serving: str
    beside: str | None
    kept_until: datetime | None


class Reindex:
    """Changes the model of the vector index. Every step can be repeated, and a run that died goes on where it was.

    Args:
        projector: a pool under `cenotaph_projector`.
        eraser: a pool under `cenotaph_eraser`, which appends the vectors.
        vault: with the right to open keys, for the comparison.
        embedding: makes the vectors.
        beside: the index they go into.
        models: the models to compare.
    """

    def __init__(  # noqa: PLR0917 - the parts of one thing, each of its own type
        self,
        projector: Database,
        eraser: Database,
        vault: Vault,
        embedding: Embedding,
        beside: VectorsBeside,
        models: Models,
    ) -> None:
        self._projector = projector
        self._vault = vault
        self._models = models
        self._index = beside
        self._embed = Follower(embedding, eraser, _EMBEDDED_AT_ONCE)
        self._beside = Follower(beside, projector)

    async def standing(self) -> Standing:
        """Say what there is."""
        async with self._projector.transaction() as connection:
            serving, beside = await _rows(connection)
        return Standing(serving=serving["model"], beside=beside["model"], kept_until=beside["until"])

    async def build(self, model: str, progress: Callable[[int, int], None] = lambda _done, _of: None) -> None:
        """Make the vectors of a model and an index of them, beside the one that serves; or go on with that.

        Raises:
            BadInputError: it serves already, or another index is there beside it.
        """
        async with exclusive(self._projector, self._index.name):
            await self._begin(model)
            failpoint.hit("reindex.begun")
            while await self._embed.step():
                progress(*await self._progress("embed"))
                failpoint.hit("reindex.embedding")
            await self._sealed()
            while await self._beside.step():
                progress(*await self._progress(self._index.name))
                failpoint.hit("reindex.indexing")
            await self._index.flush(place_of_model(model))

    async def compare(self, queries: int, seed: str = "") -> Comparison:
        """Ask both indexes for some memories by their own words; whose and which, the report does not say.

        Raises:
            BadInputError: there is nothing beside the index that serves.
        """
        async with self._projector.transaction() as connection:
            serving, beside = await _rows(connection)
            sampled = await connection.fetch(_SAMPLE, seed, queries)
        if beside["model"] is None:
            raise BadInputError("no other index is there to compare; run `cenotaph reindex --model …`")
        overlap: list[float] = []
        firsts: list[tuple[bool, bool]] = []
        for row in sampled:
            scope = Scope(tenant_id=row["tenant_id"], subject_id=row["subject_id"])
            memory = MemoryId(row["memory_id"])
            if (text := await self._words(scope, memory)) is None:
                continue
            one = await self._nearest(serving, scope, text)
            other = await self._nearest(beside, scope, text)
            overlap.append(len({*one} & {*other}) / max(len(one), len(other), 1))
            firsts.append((one[:1] == [memory], other[:1] == [memory]))
        count = max(len(overlap), 1)
        return Comparison(
            serving=serving["model"],
            built=beside["model"],
            queries=len(overlap),
            overlap=round(sum(overlap) / count, 3),
            first_serving=round(sum(one for one, _ in firsts) / count, 3),
            first_built=round(sum(other for _, other in firsts) / count, 3),
        )

    async def switch(self, grace: timedelta) -> None:
        """Let the index that was built serve, in one transaction; keep the old one, which goes on following the log.

        Raises:
            BadInputError: nothing was built.
        """
        async with self._projector.transaction() as connection:
            serving, beside = await _rows(connection)
            if beside["model"] is None or beside["until"] is not None:
                raise BadInputError("nothing was built that could serve; run `cenotaph reindex --model …`")
            position = await self._finish(connection, beside)
            await _write(connection, "vectors", beside, position, None)
            kept = datetime.now(UTC) + grace
            await _write(connection, self._index.name, serving, Position(serving["position"]), kept)
            failpoint.hit("reindex.switching")

    async def retire(self) -> int:
        """Drop the old index once its time is over; return how many that were."""
        async with self._projector.transaction() as connection:
            serving, beside = await _rows(connection)
            if beside["until"] is None or beside["until"] > datetime.now(UTC):
                return 0
            await self._drop(connection, beside)
            if serving["model"] == default_model():
                await _aim(connection, NOWHERE)
        return 1

    async def drop(self) -> bool:
        """Drop what is beside the index that serves, built or kept; say whether there was something."""
        async with self._projector.transaction() as connection:
            serving, beside = await _rows(connection)
            if beside["model"] is None:
                return False
            await self._drop(connection, beside)
            await _aim(connection, NOWHERE if serving["model"] == default_model() else serving["model"])
        return True

    async def _sealed(self) -> None:
        """Wait until every vector that was appended has a position."""
        async with self._projector.connection() as connection:
            while await connection.fetchval(_UNSEALED):  # noqa: ASYNC110 - the sealer is another process
                await asyncio.sleep(_POLL_S)

    async def _begin(self, model: str) -> None:
        self._models.of(model)  # refuse early what this build has not
        async with self._projector.transaction() as connection:
            serving, beside = await _rows(connection)
            if serving["model"] == model:
                raise BadInputError(f"the index is of model {model} already")
            if beside["model"] == model and beside["until"] is None:
                return
            if beside["model"] is not None:
                raise BadInputError(
                    f"an index of model {beside['model']} is there beside the one that serves;"
                    " `cenotaph reindex --drop` drops it"
                )
            place = place_of_model(model)
            await connection.execute(
                "update read_model.checkpoint set position = -1, place = $2, model = $3, until = null where name = $1",
                self._index.name,
                place,
                model,
            )
            await self._index.create(connection, place)
            await _aim(connection, model)

    async def _finish(self, connection: Connection, beside: Row) -> Position:
        position = Position(beside["position"])
        while events := await read_sealed(connection, position, _EMBEDDED_AT_ONCE):
            known, _ = readable(events)
            await self._index.apply(connection, beside["place"], known)
            position = events[-1].position or Position(0)
        return position

    async def _drop(self, connection: Connection, beside: Row) -> None:
        await connection.execute(
            "update read_model.checkpoint set position = -1, place = $2, model = null, until = null where name = $1",
            self._index.name,
            NOWHERE,
        )
        await self._index.drop(beside["place"])

    async def _words(self, scope: Scope, memory: MemoryId) -> str | None:
        keyring = await self._vault.keyring(scope)
        async with self._projector.connection() as connection:
            state = await read_memories(connection, scope, {memory})
            current = [fact for fact in state.values() if fact.status == "current"]
            opened = await open_memories(connection, keyring, current)
        bodies = [body for body in opened.values() if isinstance(body, MemoryBody)]
        return bodies[0].content if bodies else None

    async def _nearest(self, row: Row, scope: Scope, text: str) -> list[MemoryId]:
        model: EmbeddingModel = self._models.of(row["model"])
        vector = await model.embed_query(text)
        return [hit.memory_id for hit in await self._index.search(row["place"], scope, vector, _NEAREST)]

    async def _progress(self, name: str) -> tuple[int, int]:
        async with self._projector.connection() as connection:
            done = await connection.fetchval("select position from read_model.checkpoint where name = $1", name)
            return done + 1, await head(connection) + 1


async def _rows(connection: Connection) -> tuple[Row, Row]:
    """Hold the index that serves and what is beside it, in the order in which everybody holds them."""
    serving = await connection.fetchrow(_ROW, "vectors")
    beside = await connection.fetchrow(_ROW, "vectors_beside")
    assert serving is not None, "the migrations make both rows"  # noqa: S101 - narrows the type
    assert beside is not None, "the migrations make both rows"  # noqa: S101 - narrows the type
    return serving, beside


async def _write(connection: Connection, name: str, row: Row, position: Position, until: datetime | None) -> None:
    await connection.execute(
        "update read_model.checkpoint set position = $2, place = $3, model = $4, until = $5 where name = $1",
        name,
        position,
        row["place"],
        row["model"],
        until,
    )


async def _aim(connection: Connection, model: str) -> None:
    """Tell the follower that makes vectors which model to use, from the first event on."""
    await connection.execute(
        "update read_model.checkpoint set position = -1, place = $1 where name = 'embed' and place <> $1", model
    )
