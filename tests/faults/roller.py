"""A process that rolls the keys of a vault once, a few at a time: `python -m tests.faults.roller URL FOLDER`."""

import asyncio
import sys
from pathlib import Path

from events import rewrap
from tests.vaults import keys_at

PEOPLE, DATA_KEYS = 2, 3


async def main() -> None:
    """Roll."""
    rewrap.PEOPLE, rewrap.DATA_KEYS = PEOPLE, DATA_KEYS
    keys = keys_at(sys.argv[1], Path(sys.argv[2]))
    await keys.roller.roll()
    await keys.close()


if __name__ == "__main__":
    asyncio.run(main())
