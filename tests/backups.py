"""Taking backups of a planted system, and bringing them back into an installation of their own."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy.engine import make_url

from events.place import Folder
from events.postgres import Database
from events.sealer import Sealer
from ops.backup.manifest import Manifest
from ops.backup.restore import Chosen, Done, choose, restore
from ops.backup.write import back_up
from ops.composition import Composition
from ops.embedded import Embedded, Endpoints
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


async def plainly_owned(endpoints: Endpoints) -> Endpoints:
    """Make a database in either cluster whose owner is no superuser."""
    urls = []
    for url in (endpoints.database_url, endpoints.vault_url):
        database = Database(url, None)
        async with database.connection() as connection:
            await connection.execute("create role plain login createrole in role pg_read_all_stats")
            await connection.execute("create database plain owner plain")
        await database.close()
        urls.append(make_url(url).set(username="plain", database="plain").render_as_string())
    return replace(endpoints, database_url=urls[0], vault_url=urls[1])


@asynccontextmanager
async def fresh(
    plant: Plant, data: Path, *, plain: bool = False, replacing: bool = False
) -> AsyncIterator[Composition]:
    """Run empty servers beside a copy of the second place of another system, or in that place itself (`replacing`).

    `plain`: owned by no superuser.
    """
    place = plant.composition.settings.second_place
    if not replacing:
        place = await asyncio.to_thread(shutil.copytree, place, data.with_name(f"{data.name}-second-place"))
    settings = load_settings(data=data, second_place=place)
    with Embedded(settings) as embedded:
        endpoints = await plainly_owned(embedded.endpoints) if plain else embedded.endpoints
        composition = Composition(settings, endpoints)
        await composition.migrate()
        try:
            yield composition
        finally:
            await composition.close()


@asynccontextmanager
async def brought_back(
    plant: Plant, chosen: Chosen, data: Path, *, plain: bool = False, replacing: bool = False
) -> AsyncIterator[tuple[Plant, Done]]:
    """Restore, and run what was restored as a planted system."""
    async with fresh(plant, data, plain=plain, replacing=replacing) as composition:
        done = await restore(composition.target, chosen, lambda _step: lambda _done, _of: None)
        sealing = asyncio.create_task(seal(Sealer(composition.log("sealer"))))
        try:
            yield Plant(plant.embedded, composition, plant.tenant, plant._turns), done
        finally:
            sealing.cancel()
            with suppress(asyncio.CancelledError):
                await sealing
