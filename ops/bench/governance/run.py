"""Running many scenarios at once on embedded servers of their own, in a folder that is gone afterwards."""

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from ops.bench.governance.dump import hits_in_stores
from ops.bench.governance.play import play
from ops.bench.governance.scenario import Result, Scenario
from ops.composition import Composition
from ops.embedded import Embedded
from ops.run import Running
from ops.settings import load_settings
from services.governance.judge import GATES, Gate
from services.wire.limits import Limits

_WORKERS = ("seal", "project", "remember", "erase")
_LIMITS = Limits(max_skew=timedelta(days=36_500))  # a scenario's clock may be ahead of this machine's


def run(
    scenarios: Sequence[Scenario],
    *,
    parallel: int = 8,
    gates: Sequence[Gate] = GATES,
    progress: Callable[[], None] = lambda: None,
) -> list[Result]:
    """Play scenarios through the real pipeline; return their results in order.

    Args:
        scenarios: what to play.
        parallel: how many at once; each has a tenant, a person and a clock of its own.
        gates: the gates of the judge; fewer only to measure what one is worth.
        progress: called after each scenario.
    """
    with tempfile.TemporaryDirectory(prefix="cenotaph-eval-") as folder:
        settings = load_settings(data=Path(folder), database_url=None, vault_url=None, redis_url=None, milvus_uri=None)
        with Embedded(settings) as embedded:
            composition = Composition(settings, embedded.endpoints, gates=tuple(gates))
            return asyncio.run(_run(composition, scenarios, parallel, progress))


async def _run(
    composition: Composition, scenarios: Sequence[Scenario], parallel: int, progress: Callable[[], None]
) -> list[Result]:
    await composition.migrate()
    free = asyncio.Semaphore(parallel)

    async def one(scenario: Scenario) -> Result:
        async with free:
            result = await play(composition, scenario, _LIMITS)
        progress()
        return result

    async with Running(composition, _WORKERS, door=False) as running:
        results = await asyncio.gather(*(one(scenario) for scenario in scenarios))
        running.check()
        needles = {needle for scenario in scenarios for needle in scenario.expect.never_stored}
        hits = await hits_in_stores(composition, needles)
    return [
        result.model_copy(
            update={
                "raw_dump_hits": result.raw_dump_hits
                + tuple(hit for hit in hits if hit.needle in scenario.expect.never_stored)
            }
        )
        for scenario, result in zip(scenarios, results, strict=True)
    ]
