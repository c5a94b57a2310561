"""The loops that give bytes back and sign second receipts."""

import asyncio
from collections.abc import Awaitable, Callable

from workers.loop import forever


async def reclaim(step: Callable[[], Awaitable[int]], every_s: float) -> None:
    """Rewrite what waits until cancelled, at most once in so many seconds: many deletions share one rewriting."""

    async def paced() -> int:
        await step()
        return 0

    await forever("reclaim", paced, lambda: asyncio.sleep(every_s))
