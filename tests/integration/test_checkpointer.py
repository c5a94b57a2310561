"""Signed heads on a real Postgres and in a folder: grown, copied, refused, handed from key to key (R5)."""

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from events.checkpointer import Checkpointer, coverage
from events.errors import CenotaphError, TamperError
from events.keychain import KeyChain
from events.note import Checkpoint, Note
from events.place import Folder
from events.postgres import Database
from tests.conftest import Stores
from tests.integration.loglab import LogLab, lab_of


@pytest.fixture
async def lab(stores: Stores, tmp_path: Path) -> AsyncIterator[LogLab]:
    """An empty log in a database of its own, with a second place and a key folder."""
    async with lab_of(stores.endpoints.database_url, tmp_path) as lab:
        yield lab


def names(lab: LogLab, kind: str) -> list[str]:
    return list(lab.place.names(kind))


async def notes_of(database: Database) -> list[str]:
    async with database.connection() as connection:
        return [row["note"] for row in await connection.fetch("select note from log.checkpoint order by size")]


async def test_checkpoints_lie_in_both_places_and_hold(lab: LogLab) -> None:
    """A grown head is signed once; both places hold the same private notes; a reader sees how far they reach."""
    await lab.grow(5)
    await lab.checkpointer.write()
    await lab.checkpointer.write()
    await lab.grow(8)
    await lab.checkpointer.write()
    notes = await notes_of(lab.owner)
    assert [Checkpoint.parse(Note.parse(note).text).size for note in notes] == [5, 13]
    assert [(lab.place.get(name) or b"").decode() for name in names(lab, "checkpoints")] == notes
    first = await lab.checkpointer.first_key()
    assert all(Note.parse(note).signed_by(first) for note in notes)
    for path in (*(lab.folder / "second").rglob("*"), *(lab.folder / "keys").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    await lab.grow(3)
    reader = Database(lab.owner.url, "cenotaph_reader")
    async with reader.connection() as connection:
        found = await coverage(connection)
    await reader.close()
    assert found.uncovered == await lab.checkpointer.behind() == 3
    assert found.signed_at is not None


async def test_an_empty_log_has_no_checkpoint(lab: LogLab) -> None:
    """Nothing is signed before there is an event."""
    await lab.checkpointer.write()
    assert await notes_of(lab.owner) == names(lab, "checkpoints") == []


class Away(Folder):
    """A second place that cannot be written to."""

    def put(self, name: str, content: bytes) -> bool:
        """Fail as a file system does."""
        raise OSError(name, content)


async def test_a_second_place_that_was_away_gets_everything_later(lab: LogLab) -> None:
    """What was signed while the second place was away counts as uncovered until the next process copies it."""
    away = Checkpointer(lab.sealer, Away(lab.folder / "second"), lab.folder / "keys")
    for _ in range(2):
        await lab.grow(3)
        with pytest.raises(OSError, match="note"):
            await away.write()
    assert names(lab, "checkpoints") == []
    assert await away.behind() == 6
    async with lab.sealer.connection() as connection:
        assert (await coverage(connection)).signed_at is None
    await lab.checkpointer.write()
    assert await away.behind() == 0
    assert len(names(lab, "checkpoints")) == len(await notes_of(lab.owner)) == 2


@pytest.mark.parametrize(
    "tampering",
    [
        "update log.head set root = sha256('x')",
        "update log.node set hash = sha256('x') where level = 0 and index = 5",
        "delete from log.node where level = 0 and index = 5",
        "update log.head set size = 3",
    ],
    ids=["root", "node", "lost-node", "shorter"],
)
async def test_a_head_that_does_not_extend_the_last_checkpoint_is_not_signed(lab: LogLab, tampering: str) -> None:
    """Our key never vouches for a history that contradicts the one it vouched for before."""
    await lab.grow(5)
    await lab.checkpointer.write()
    await lab.grow(2)
    await lab.tamper(tampering)
    with pytest.raises(TamperError, match="does not extend the checkpoint of 5"):
        await lab.checkpointer.write()
    assert len(await notes_of(lab.owner)) == 1


async def test_the_place_of_another_log_is_refused(lab: LogLab) -> None:
    """Two logs in one second place would hide each other's tampering, so the second one hears of it."""
    lab.place.put("signing-keys/000000.note", b"another log's")
    await lab.grow(1)
    with pytest.raises(TamperError, match="is it the place of another log"):
        await lab.checkpointer.write()
    assert await lab.checkpointer.behind() == 1


async def test_a_key_is_signed_by_its_predecessor_and_the_old_one_is_destroyed(lab: LogLab) -> None:
    """A rotated chain leads from the first key to the new one, which signs what comes; the old file is gone."""
    await lab.grow(4)
    first = await lab.checkpointer.first_key()
    assert (await lab.checkpointer.rotate()).after == 4
    await lab.grow(4)
    await Checkpointer(lab.sealer, lab.place, lab.folder / "keys").write()
    chain, problem = KeyChain.follow(
        [(lab.place.get(name) or b"").decode() for name in names(lab, "signing-keys")], first
    )
    assert problem is None
    for raw in await notes_of(lab.owner):
        note = Note.parse(raw)
        size = Checkpoint.parse(note.text).size
        assert {each.number: note.signed_by(each.key) for each in chain.keys} == {0: size == 4, 1: size == 8}
    assert [path.name for path in (lab.folder / "keys").iterdir()] == ["checkpoints-1.key"]


async def test_a_lost_signing_key_is_said(lab: LogLab) -> None:
    """Without its key file nobody signs, and the message names the file to restore."""
    await lab.grow(1)
    await lab.checkpointer.write()
    (lab.folder / "keys" / "checkpoints-0.key").unlink()
    await lab.grow(1)
    with pytest.raises(CenotaphError, match=r"lacks checkpoints-0\.key"):
        await lab.checkpointer.write()
