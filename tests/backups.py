"""Taking backups of a planted system, and bringing them back into an installation of their own."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from events.place import Folder
from events.sealer import Sealer
from ops.backup.manifest import Manifest
from ops.backup.restore import Chosen, Done, choose, restore
from ops.backup.write import back_up
from ops.composition import Composition
from ops.embedded import Embedded
from ops.settings import load_settings
from tests.plant import Plant
from workers.seal import seal

LIFE = timedelta(days=7)


async def take(plant: Plant, folder: Path, life: timedelta = LIFE) -> Manifest:
    """Take a backup; its keys lie in a folder beside it."""
    manifest, _ = await back_up(plant.composition.backed_up, folder, keys_of(folder), life)
    return manifest


def keys_of(folder: Path) -> Path:
    """Name the folder of a backup's keys."""
    return folder.with_name(f"{folder.name}.keys")


def chosen_of(plant: Plant, folder: Path, *, at: datetime | None = None, living: bool = False) -> Chosen:
    """Check a backup against the second place of the system it was taken of."""
    place = Folder(plant.composition.settings.second_place)
    return choose(folder, None if living else keys_of(folder), place, at or datetime.now(UTC))


@asynccontextmanager
async def fresh(plant: Plant, data: Path) -> AsyncIterator[Composition]:
    """Run empty servers beside a copy of the second place of another system."""
    place = data.with_name(f"{data.name}-second-place")
    await asyncio.to_thread(shutil.copytree, plant.composition.settings.second_place, place)
    settings = load_settings(data=data, second_place=place)
    with Embedded(settings) as embedded:
        composition = Composition(settings, embedded.endpoints)
        await composition.migrate()
        try:
            yield composition
        finally:
            await composition.close()


@asynccontextmanager
async def brought_back(plant: Plant, chosen: Chosen, data: Path) -> AsyncIterator[tuple[Plant, Done]]:
    """Restore, and run what was restored as a planted system."""
    async with fresh(plant, data) as composition:
        done = await restore(composition.target, chosen, lambda _step: lambda _done, _of: None)
        sealing = asyncio.create_task(seal(Sealer(composition.log("sealer"))))
        try:
            yield Plant(plant.embedded, composition, plant.tenant, plant._turns), done
        finally:
            sealing.cancel()
            with suppress(asyncio.CancelledError):
                await sealing
