"""The upkeep worker: rounds of what is due at any time and of what is looked at once a day, and the shredder."""

import asyncio
from collections.abc import Sequence

from projections.follower import Follower
from services.forgetting.retention import Retention
from services.upkeep.round import Round
from workers.loop import forever
from workers.project import project


async def upkeep(  # noqa: PLR0917 - called in one place
    often: Round,
    seldom: Round,
    retention: Retention,
    followers: Sequence[Follower],
    url: str,
    every_s: tuple[float, float],
) -> None:
    """Do rounds, end the record of reads, and shred until cancelled.

    Args:
        often: ends what has been kept long enough.
        seldom: everything else.
        retention: ends what was read long ago.
        followers: destroy what the log says is due, and make the vectors of another model.
        url: the log's database, for the notifications of the sealer.
        every_s: how long either round waits when it finds nothing to do.
    """
    async with asyncio.TaskGroup() as group:
        group.create_task(forever("expire", often.step, lambda: asyncio.sleep(every_s[0])), name="expire")
        group.create_task(forever("tidy", seldom.step, lambda: asyncio.sleep(every_s[1])), name="tidy")
        group.create_task(forever("reads", retention.step, lambda: asyncio.sleep(every_s[0])), name="reads")
        group.create_task(project(followers, url), name="follow")
