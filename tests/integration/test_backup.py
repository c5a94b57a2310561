"""Backups of a living system: what is refused before anything is touched, what receipts say, how keys end."""

import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from events.errors import BadInputError, CenotaphError, TamperError
from events.model import EventId
from events.place import Folder
from events.provider import FileProvider
from ops.backup.kept import backups, drop
from ops.backup.keypart import read_keys
from ops.backup.manifest import NAME, Manifest
from ops.backup.restore import choose, restore
from ops.composition import Composition
from services.audit.evidence import Trust
from services.audit.faults import Fault
from services.audit.reading import copies_of, snapshot, verify
from services.forgetting.backups import SECRET, BackupKeys
from tests.backups import LIFE, brought_back, chosen_of, keys_of, take
from tests.plant import Plant, planted


@dataclass(frozen=True)
class Taken:
    """A system with a backup."""

    plant: Plant
    folder: Path


@pytest.fixture(scope="module")
async def taken(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Taken]:
    """Run a system in which something was said, and back it up."""
    async with planted(tmp_path_factory.mktemp("plant")) as plant:
        scope = await plant.person()
        await plant.remember(scope, "请记住：我喜欢龙井茶。", "好的。")
        folder = tmp_path_factory.mktemp("backups") / "one"
        await take(plant, folder)
        yield Taken(plant, folder)


def cut(folder: Path) -> None:
    path = folder / "log.body.copy"
    path.write_bytes(path.read_bytes()[:-1])


def flip(folder: Path) -> None:
    path = folder / "log.event.copy"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def lose(folder: Path) -> None:
    (folder / "log.fence.copy").unlink()


def unfinished(folder: Path) -> None:
    (folder / NAME).unlink()


def lie(folder: Path) -> None:
    path = folder / NAME
    path.write_text(path.read_text(encoding="utf-8").replace('"size":', '"size":1'), encoding="utf-8")


def no_folder(folder: Path) -> None:
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("damage", "error", "words"),
    [
        (cut, TamperError, "log.body.copy has"),
        (flip, TamperError, "log.event.copy is not the file"),
        (lose, TamperError, "lacks log.fence.copy"),
        (unfinished, BadInputError, "never finished"),
        (lie, TamperError, "not signed by"),
        (no_folder, BadInputError, "there is no backup"),
    ],
)
def test_a_damaged_backup_is_refused(
    taken: Taken, tmp_path: Path, damage: Callable[[Path], None], error: type[CenotaphError], words: str
) -> None:
    """Half a backup and a cut, changed or missing file are named before anything is touched; whole, it is taken."""
    folder = tmp_path / "copy"
    shutil.copytree(taken.folder, folder)
    place = Folder(taken.plant.composition.settings.second_place)
    assert choose(folder, keys_of(taken.folder), place, datetime.now(UTC)).manifest.part == "log"
    damage(folder)
    with pytest.raises(error, match=words):
        choose(folder, keys_of(taken.folder), place, datetime.now(UTC))


def test_without_the_second_place_nothing_is_restored(taken: Taken, tmp_path: Path) -> None:
    """A second place that is not there, or is another log's, does not say what was forgotten since."""
    with pytest.raises(CenotaphError, match="only there it says what was forgotten"):
        choose(taken.folder, keys_of(taken.folder), Folder(tmp_path / "none"), datetime.now(UTC))


def test_keys_that_are_too_old_are_refused(taken: Taken) -> None:
    """A second before the end of their life they are taken, from then on refused; the living vault needs none."""
    end = datetime.now(UTC) + LIFE
    assert chosen_of(taken.plant, taken.folder, at=end - timedelta(hours=1)).keys is not None
    with pytest.raises(BadInputError, match="are refused"):
        chosen_of(taken.plant, taken.folder, at=end)
    assert chosen_of(taken.plant, taken.folder, at=end, living=True).keys is None


def test_the_keys_of_another_backup_are_refused(taken: Taken) -> None:
    """The log's part in place of the keys' opens nothing and is named."""
    place = Folder(taken.plant.composition.settings.second_place)
    with pytest.raises(BadInputError, match="is not the part `keys`"):
        choose(taken.folder, taken.folder, place, datetime.now(UTC))


async def test_what_is_in_use_is_not_overwritten(taken: Taken) -> None:
    """A log that holds events, or a folder that holds files, is left alone, and its readers stay let in."""
    with pytest.raises(CenotaphError, match="not empty"):
        await restore(
            taken.plant.composition.target, chosen_of(taken.plant, taken.folder), lambda _s: lambda _d, _o: None
        )
    async with taken.plant.composition.log("reader").connection() as connection:
        assert await connection.fetchval("select 1") == 1
    with pytest.raises(BadInputError, match="is not empty"):
        await take(taken.plant, taken.folder)


async def test_a_receipt_lists_the_backups_that_hold_it_until_their_keys_die(taken: Taken, tmp_path: Path) -> None:
    """Only a backup from before the erasure is listed, and the receipt says that keys die no earlier than its own."""
    plant, scope = taken.plant, await taken.plant.person()
    memory = await plant.remember(scope, "Remember: I play the viola.", "Noted.")
    manifest = await take(plant, tmp_path / "holds", timedelta(days=90))
    receipt = await plant.forget(scope, memory)
    await plant.follow()
    shown = await plant.until(scope, receipt)
    assert shown.decision == "deletion_propagated"
    assert "keys_die_by" in await waiting(plant, receipt)
    (layer,) = (layer for layer in shown.layers if layer.layer == "backup_manifest")
    assert (layer.state, [copy.copy_id for copy in layer.copies]) == ("unreclaimed", [manifest.backup_id])
    assert shown.keys_die_by == layer.copies[0].keys_die_by == manifest.keys_die_by

    listed = {each.backup_id: each for each in await backups(plant.composition.log(None))}
    assert listed[manifest.backup_id].holds == 1
    with pytest.raises(BadInputError, match="no backup"):
        await drop(plant.composition.log(None), uuid4(), removed=True)
    for _ in range(2):
        dropped = await drop(plant.composition.log(None), manifest.backup_id, removed=False)
    assert dropped.keys_destroyed_at is not None
    assert [*(tmp_path / "holds").iterdir(), *keys_of(tmp_path / "holds").iterdir()] == []
    assert "keys_die_by" not in await waiting(plant, receipt), "a copy that was dropped opens nothing any more"

    other = await plant.person()
    later = await plant.remember(other, "Remember: I collect stamps.", "Noted.")
    receipt = await plant.forget(other, later)
    await plant.follow()
    (layer,) = (layer for layer in (await plant.finish(other, receipt)).layers if layer.layer == "backup_manifest")
    assert (layer.state, layer.copies) == ("absent", ())


async def waiting(plant: Plant, receipt: EventId) -> set[str]:
    """Roll the keys; say which layers the second receipt waits for."""
    await plant.composition.roller.roll()
    async with plant.owner() as connection:
        row = await connection.fetchrow("select * from ops.erasure where tombstone = $1", receipt)
    assert row is not None
    return {each.layer for each in await plant.composition.purger.ask(row) if each.state != "purged"}


async def test_the_keys_of_a_backup_end_at_their_time(taken: Taken, tmp_path: Path) -> None:
    """Once overdue the secret is overwritten and gone, whoever copied the rest; what is not overdue stays."""
    folder = tmp_path / "short"
    await take(taken.plant, folder, timedelta(microseconds=1))
    assert (keys_of(folder) / SECRET).exists()
    keys = BackupKeys(taken.plant.composition.log("eraser"))
    assert await keys.expire() == 1
    assert await keys.expire() == 0
    assert not (keys_of(folder) / SECRET).exists()
    assert (keys_of(taken.folder) / SECRET).exists()
    manifest, _ = Manifest.read(keys_of(folder))
    provider = FileProvider(tmp_path)
    with pytest.raises(CenotaphError, match="were destroyed"):
        _ = [each async for each in read_keys(keys_of(folder), manifest, provider, manifest.backup_id, frozenset())]


async def test_a_log_keeps_to_its_own_origin_whatever_lies_in_the_place(taken: Taken, tmp_path: Path) -> None:
    """A restore in the second place of a log that lives takes nothing from it: started anew, both sign and verify."""
    plant = taken.plant
    chosen = chosen_of(plant, taken.folder)
    async with brought_back(plant, chosen, tmp_path / "new", replacing=True) as (restored, _):
        for each in (plant, restored):
            await each.remember(await each.person(), "Remember: I play the cello.", "Noted.")
            await each.sealed()
            assert await started_anew(each.composition) == []
        settings = restored.composition.settings.model_copy(update={"second_place": tmp_path / "none"})
        async with closing(Composition(settings, restored.composition.endpoints)) as astray:
            with pytest.raises(CenotaphError, match="does not know restore"):
                await astray.require_own_place(None)
            with pytest.raises(CenotaphError, match="does not know restore"):
                await astray.check(["seal"])
        assert not (tmp_path / "none").exists()


@asynccontextmanager
async def closing(composition: Composition) -> AsyncIterator[Composition]:
    try:
        yield composition
    finally:
        await composition.close()


async def started_anew(composition: Composition) -> Sequence[Fault]:
    """Sign and verify as processes do that have just started; return what is wrong."""
    async with closing(Composition(composition.settings, composition.endpoints)) as started:
        await started.require_own_place(None)
        await started.checkpointer.write()
        assert await started.checkpointer.behind() == 0
        prober = started.log("prober")
        there = await copies_of(prober, started.second_place)
        async with snapshot(prober) as connection:
            report = await verify(connection, there, Trust())
        assert report.checkpoints > 0
        return report.faults
