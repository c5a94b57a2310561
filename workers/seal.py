"""The sealing worker."""

import asyncio

from events.sealer import Sealer
from workers.loop import forever

_IDLE_S = 0.01


async def seal(sealer: Sealer) -> None:
    """Seal what arrives until cancelled."""
    await forever("seal", sealer.seal, lambda: asyncio.sleep(_IDLE_S))
