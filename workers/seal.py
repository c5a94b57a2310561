"""The sealing worker: positions as events arrive, signed checkpoints now and then and at the end."""

import asyncio

import structlog

from events.checkpointer import Checkpointer
from events.errors import CenotaphError
from events.sealer import Sealer
from workers.loop import forever

log = structlog.get_logger(__name__)

_PAUSE_S = 0.01
_LOOK_S = 1.0


async def seal(sealer: Sealer) -> None:
    """Seal what arrives until cancelled: after a batch that was not full there is time to wait for more."""

    async def step() -> bool:
        return await sealer.seal() == sealer.batch

    await forever("seal", step, lambda: asyncio.sleep(_PAUSE_S))


async def checkpoint(checkpointer: Checkpointer, every_s: int, every_events: int) -> None:
    """Write checkpoints until cancelled, and a last one then.

    Args:
        checkpointer: writes them.
        every_s: how long after the last one at the latest, if there is anything new.
        every_events: after how many events at the latest, looked at once a second.
    """
    clock = asyncio.get_running_loop().time
    written = clock() - every_s

    async def step() -> int:
        nonlocal written
        if clock() - written >= every_s or await checkpointer.behind() >= every_events:
            await checkpointer.write()
            written = clock()
        return 0

    try:
        await forever("checkpoint", step, lambda: asyncio.sleep(_LOOK_S))
    finally:
        try:
            await checkpointer.write()
        except (CenotaphError, OSError) as error:
            log.warning("no_last_checkpoint", error=type(error).__name__)
