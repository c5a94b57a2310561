"""Has Redis rewrite its append-only file, so that what was handed over in the clear leaves it without any forget."""

import asyncio

from services.forgetting.append_only import AppendOnlyFile
from workers.loop import forever


async def rewrite(file: AppendOnlyFile, every_s: float) -> None:
    """Rewrite until cancelled, at most once in so many seconds, and only if entries came since the last time."""

    async def step() -> int:
        await file.reclaim()
        return 0

    await forever("rewrite", step, lambda: asyncio.sleep(every_s))
