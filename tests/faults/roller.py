"""A process that rolls the keys of a vault once: `python -m tests.faults.roller URL FOLDER`."""

import asyncio
import sys
from pathlib import Path

from tests.vaults import keys_at


async def main() -> None:
    """Roll."""
    keys = keys_at(sys.argv[1], Path(sys.argv[2]))
    await keys.roller.roll()
    await keys.close()


if __name__ == "__main__":
    asyncio.run(main())
