"""kill -9 in the middle of a backup and of a restore: half of one is taken for none, and nobody reads of it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from events.errors import BadInputError, CenotaphError, LoginError
from ops.composition import Composition
from tests.backups import chosen_of, fresh, take
from tests.plant import Plant, planted

TAKING = ("backup.registered", "backup.log_written", "backup.keys_written", "backup.signed")
RESTORING = (
    "restore.walled",
    "restore.loaded",
    "restore.committed",
    "restore.unlocking",
    "restore.unlocked",
    "restore.begun",
    "restore.rebuilt",
)


@pytest.fixture(scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    """Run a system."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


async def run(composition: Composition, what: str, folder: Path, point: str = "") -> tuple[int, str]:
    """Run a process that dies at a failpoint; return its exit code and what it said."""
    endpoints, settings = composition.endpoints, composition.settings
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.faults.restorer",
        what,
        str(folder),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={
            **os.environ,
            "DATABASE_URL": endpoints.database_url,
            "VAULT_URL": endpoints.vault_url,
            "REDIS_URL": endpoints.redis_url,
            "LIFE_MILVUS": endpoints.milvus_uri,  # pymilvus would read MILVUS_URI at import, and refuse a socket
            "CENOTAPH_DATA": str(settings.data),
            "CENOTAPH_SECOND_PLACE": str(settings.second_place),
            "CENOTAPH_FAILPOINT": point,
        },
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def test_a_backup_that_was_killed_is_never_restored(plant: Plant, tmp_path: Path) -> None:
    """At whatever step it died, the folder is recognised as half a backup, and a receipt still counts with it."""
    for point in TAKING:
        folder = tmp_path / point
        assert (await run(plant.composition, "take", folder, point))[0] == -signal.SIGKILL
        with pytest.raises(BadInputError, match="never finished"):
            chosen_of(plant, folder)
    async with plant.owner() as connection:
        assert await connection.fetchval("select count(*) from ops.backup") == len(TAKING)


async def test_a_restore_that_was_killed_is_taken_up_and_lets_nobody_in(plant: Plant, tmp_path: Path) -> None:
    """After a death at each step nobody but the owner may connect; run again, it ends as if nothing had happened."""
    scope = await plant.person()
    kept = await plant.remember(scope, "请记住：我喜欢龙井茶。", "好的。")
    gone = await plant.remember(scope, "Remember: my locker code word is pomegranate.", "Noted.")
    await take(plant, tmp_path / "backup")
    receipt = await plant.forget(scope, gone)
    await plant.follow()
    assert (await plant.until(scope, receipt)).decision == "deletion_propagated"
    async with fresh(plant, tmp_path / "new") as composition:
        for point in RESTORING:
            assert (await run(composition, "restore", tmp_path / "backup", point))[0] == -signal.SIGKILL
            with pytest.raises(LoginError):
                async with composition.log("reader").connection():
                    pass
            with pytest.raises(CenotaphError, match="has not ended"):
                await composition.require_whole()
        code, said = await run(composition, "restore", tmp_path / "backup")
        assert (code, said) == (0, "Done(events=9, late=1, left_out=4, probed=1)")
        restored = Plant(plant.embedded, composition, plant.tenant)
        assert set(await restored.recalled(scope, "龙井茶")) == {kept}
        assert gone not in await restored.recalled(scope, "pomegranate")
