"""A process that takes or restores a backup on given stores, and dies at the failpoint it was armed with.

`python -m tests.faults.restorer take|restore DIR`; prints what a restore did. The stores and CENOTAPH_DATA come from
the environment, as for `tests/faults/zygote.py`.
"""

import asyncio
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from events.place import Folder
from ops.backup.restore import choose, restore
from ops.backup.write import back_up
from ops.composition import Composition
from ops.embedded import Endpoints
from ops.settings import load_settings


async def main(what: str, folder: Path) -> None:
    """Do it once."""
    settings = load_settings()
    urls = (settings.database_url, settings.vault_url, settings.redis_url, os.environ["LIFE_MILVUS"])
    composition = Composition(settings, Endpoints(*map(str, urls)))
    keys = folder.with_name(f"{folder.name}.keys")
    try:
        if what == "take":
            await back_up(composition.backed_up, folder, keys, timedelta(days=7))
        else:
            chosen = choose(folder, keys, Folder(settings.second_place), datetime.now(UTC))
            sys.stdout.write(repr(await restore(composition.target, chosen, lambda _step: lambda _done, _of: None)))
    finally:
        await composition.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
