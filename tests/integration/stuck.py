"""A consumer that takes whatever comes and never finishes: `python -m tests.integration.stuck URL STREAM`."""

import asyncio
import sys
from collections.abc import Mapping

from workers.delivery import Delivery, Letter, Route


async def run(url: str, stream: str) -> None:
    """Say each entry that is taken, and work on it for ever."""

    async def work(fields: Mapping[str, str], _entry_id: str) -> None:
        print(fields["n"], flush=True)  # noqa: T201 - whoever started it reads this
        await asyncio.Event().wait()

    async def park(_letter: Letter) -> None:
        """Park nothing."""

    await Delivery(url, (Route(stream, work, park, 4),), 1000, 600_000).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], sys.argv[2]))
