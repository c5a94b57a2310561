"""Every read model of one log, its followers and its comparison, as `ops/composition/` wires them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from events.log import EventLog
from events.sealer import Sealer
from events.vault import Vault
from projections.facts import Facts
from projections.follower import Follower, place_of
from projections.index import IndexReader
from projections.keywords import Keywords
from projections.milvus import Milvus
from projections.mirror import Mirror, TablesMirror
from projections.model import Projection
from projections.sessions import Sessions
from projections.tasks import Tasks
from projections.vector_index import VectorIndex
from projections.vector_mirror import VectorsMirror
from services.replay.compare import Report
from services.replay.diff import Differ
from tests.conftest import Stores


@dataclass(frozen=True)
class Models:
    """The read models of one log."""

    stores: Stores
    log: EventLog
    milvus: Milvus
    index: IndexReader
    all: dict[str, Projection]
    place: str

    async def seal(self) -> None:
        """Seal what there is."""
        while await Sealer(self.stores.sealer).seal():
            pass

    async def follow(self, *names: str, batch: int = 500) -> None:
        """Let read models, or all, follow to the end."""
        for name, model in self.all.items():
            if not names or name in names:
                await Follower(model, self.stores.projector, batch).catch_up()

    def differ(self, *names: str) -> Differ:
        """Compare read models, or all, with the log."""
        mirrors: dict[str, Mirror] = {
            "facts": TablesMirror(self.all["facts"]),
            "keywords": TablesMirror(self.all["keywords"]),
            "sessions": TablesMirror(self.all["sessions"]),
            "tasks": TablesMirror(self.all["tasks"]),
            "vectors": VectorsMirror(self.milvus, self.index),
        }
        return Differ(self.stores.projector, {name: mirrors[name] for name in names or mirrors})

    async def reports(self, *names: str) -> dict[str, Report]:
        """Compare and collect."""
        return {report.model: report async for report in self.differ(*names).run()}


@asynccontextmanager
async def models(stores: Stores) -> AsyncIterator[Models]:
    """Open them, and close what was opened."""
    log, milvus = EventLog(stores.appender), Milvus(stores.endpoints.milvus_uri)
    index = IndexReader(Vault(stores.keeper, stores.provider))
    every: list[Projection] = [Facts(index), Keywords(index), Sessions(), Tasks(), VectorIndex(milvus, index)]
    async with stores.owner.connection() as connection:
        place = await place_of(connection, "vectors")
    try:
        yield Models(stores, log, milvus, index, {model.name: model for model in every}, place)
    finally:
        async with stores.owner.connection() as connection:
            served = await place_of(connection, "vectors")
        await milvus.write(lambda: milvus.call(served, lambda client: client.drop_collection(served)))
        await milvus.close()
        await log.close()
