"""The upkeep worker: ends what was kept as long as it may be, and destroys it."""

import asyncio

from projections.follower import Follower
from services.forgetting.expiry import Expiry
from workers.loop import forever
from workers.project import project


async def upkeep(expiry: Expiry, shredder: Follower, url: str, every_s: float) -> None:
    """Expire and shred until cancelled.

    Args:
        expiry: appends what is due.
        shredder: destroys what the log says is due.
        url: the log's database, for the notifications of the sealer.
        every_s: how long to wait when nothing is due.
    """
    async with asyncio.TaskGroup() as group:
        group.create_task(forever("expire", expiry.step, lambda: asyncio.sleep(every_s)), name="expire")
        group.create_task(project([shredder], url), name="shred")
