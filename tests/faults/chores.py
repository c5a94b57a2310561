"""A process that has everything imported and forks chores of upkeep, one after the other (`test_upkeep_kill.py`).

Each line on stdin is a chore, the value of CENOTAPH_FAILPOINT (or `-`), and arguments; the line on stdout is its exit
code. The stores and CENOTAPH_DATA come from the environment, as for `tests/faults/zygote.py`.
"""

import asyncio
import importlib
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from events import failpoint
from events.model import Scope, SessionId, SubjectId, TenantId
from ops.composition import Composition
from ops.embedded import Endpoints
from ops.settings import load_settings
from projections.model_names import uncentred_model

Chore = Callable[[Composition, list[str]], Awaitable[None]]


async def reindex(composition: Composition, _words: list[str]) -> None:
    """Change the model of the vector index."""
    await composition.reindex.build(uncentred_model())
    await composition.reindex.switch(timedelta(hours=1))


async def summarise(composition: Composition, words: list[str]) -> None:
    """Sum a session up."""
    tenant, subject, session = map(UUID, words)
    scope = Scope(tenant_id=TenantId(tenant), subject_id=SubjectId(subject))
    await composition.summaries.refresh(scope, SessionId(session), every=1)


async def tidy(composition: Composition, _words: list[str]) -> None:
    """Do what is done once a day, as if it were tomorrow."""
    async for _ in composition.tidying().run(datetime.now(UTC) + timedelta(hours=9)):
        pass


CHORES: dict[str, Chore] = {"reindex": reindex, "summarise": summarise, "tidy": tidy}


async def do(chore: str, words: list[str]) -> None:
    """Do one chore."""
    settings = load_settings()
    urls = (settings.database_url, settings.vault_url, settings.redis_url, os.environ["LIFE_MILVUS"])
    composition = Composition(settings, Endpoints(*map(str, urls)))
    try:
        await CHORES[chore](composition, words)
    finally:
        await composition.close()


def main() -> None:
    """Fork chores until stdin closes."""
    for line in iter(sys.stdin.readline, ""):
        chore, point, *words = line.split()
        if (child := os.fork()) == 0:
            try:
                os.environ["CENOTAPH_FAILPOINT"] = point.strip("-")
                importlib.reload(failpoint)
                asyncio.run(do(chore, words))
            except BaseException:  # noqa: BLE001 - a fork must never go on as its parent
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
