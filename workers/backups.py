"""Ending the life of the keys of backups at their time (R44)."""

import asyncio

from services.forgetting.backups import BackupKeys
from workers.loop import forever


async def expire(keys: BackupKeys, every_s: float) -> None:
    """Destroy what is overdue until cancelled.

    Args:
        keys: the keys of all backups.
        every_s: how long to wait in between.
    """

    async def step() -> int:
        await keys.expire()
        return 0

    await forever("backup_keys", step, lambda: asyncio.sleep(every_s))
