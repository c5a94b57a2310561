"""Running pools on embedded servers of their own, in a folder that is gone afterwards."""

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from ops.bench.retrieval.everything import NO_GATES, IndexAll
from ops.bench.retrieval.play import Player
from ops.bench.retrieval.pool import Pool
from ops.bench.retrieval.score import Answered
from ops.bench.retrieval.vectors import KeptVectors
from ops.composition import Composition
from ops.embedded import Embedded
from ops.run import Running
from ops.settings import load_settings
from projections.embedding import Embedder
from services.governance.judge import GATES
from services.governance.policy import shipped_policy
from services.remembering.remember import Rememberer

_WORKERS: Final = ("seal", "project")
_PARALLEL: Final = 4


class _Measured(Composition):
    """The product's parts, with an embedder that embeds each text once."""

    vectors_file: Path

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model."""
        embedder = KeptVectors(self.vectors_file)

        async def close() -> None:
            embedder.close()

        self._closers.append(close)
        return embedder


def run(
    pools: Sequence[Pool], *, governed: bool, vectors: Path | None, progress: Callable[[], None] = lambda: None
) -> list[Answered]:
    """Play pools; return their answers in order.

    Args:
        pools: what to play; each has a tenant and a person of its own.
        governed: whether the product's extractor and gates decide what is kept, instead of `eval_index_all`.
        vectors: a file that keeps vectors from run to run.
        progress: called after each item and each question.
    """
    with tempfile.TemporaryDirectory(prefix="cenotaph-eval-") as folder:
        data = Path(folder) / "data"
        settings = load_settings(data=data, database_url=None, vault_url=None, redis_url=None, milvus_uri=None)
        with Embedded(settings) as embedded:
            composition = _Measured(settings, embedded.endpoints)
            composition.vectors_file = vectors or Path(folder) / "vectors.db"
            return asyncio.run(_run(composition, pools, progress, governed=governed))


async def _run(
    composition: Composition, pools: Sequence[Pool], progress: Callable[[], None], *, governed: bool
) -> list[Answered]:
    await composition.migrate()
    free = asyncio.Semaphore(_PARALLEL)
    async with Running(composition, _WORKERS, door=False) as running:
        player = Player(composition, _rememberer(composition, governed=governed), speakers=not governed)

        async def one(pool: Pool) -> list[Answered]:
            async with free:
                answered = await player.play(pool, progress)
            running.check()
            return answered

        answered = await asyncio.gather(*(one(pool) for pool in pools))
    return [each for own in answered for each in own]


def _rememberer(composition: Composition, *, governed: bool) -> Rememberer:
    return Rememberer(
        composition.vault("keeper"),
        composition.events,
        projector=composition.log("projector"),
        reader=composition.log("reader"),
        embedder=composition.embedder,
        extractor=composition.reader_of_turns if governed else IndexAll(),
        policy=shipped_policy(),
        gates=GATES if governed else NO_GATES,
    )
