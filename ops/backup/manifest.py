"""What a backup says of itself: a signed note that is written last, so that a folder without it is half a backup.

The text of the note is the log's name, the word `backup`, and the manifest as canonical JSON, a line each. A checkpoint
has a bare number in its second line and an introduced key the words `signing key`, so none can be taken for another.
"""

from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, Self
from uuid import UUID

from pydantic import ValidationError

from events import canon
from events.errors import BadInputError, TamperError
from events.keychain import KeyChain
from events.model import Frozen
from events.note import Note

NAME: Final = "manifest.note"
FORMAT: Final = "cenotaph.backup/1"
_WORD = "backup"
_CHUNK = 1 << 20


class Listed(Frozen):
    """One file of a backup; `columns` are those of its table, in the order of the fields."""

    name: str
    table: str
    columns: tuple[str, ...]
    rows: int
    bytes: int
    sha256: str


class Manifest(Frozen):
    """What lies in one folder of a backup: the log's part, or that of the keys, which is kept apart.

    `began` and `ended` are the database's clock around the snapshot, `size` and `root` the log's head in it.
    `revision` is that of the schema. The part of the keys is refused from `keys_die_by` on.
    """

    format: str = FORMAT
    part: Literal["log", "keys"]
    backup_id: UUID
    origin: str
    size: int
    root: str
    revision: str
    began: datetime
    ended: datetime
    keys_die_by: datetime
    files: tuple[Listed, ...]

    @property
    def text(self) -> str:
        """The text to sign."""
        return f"{self.origin}\n{_WORD}\n{canon.encode(self.model_dump(mode='json')).decode()}\n"

    @classmethod
    def read(cls, folder: Path) -> tuple[Self, Note]:
        """Read the manifest of a folder; who signed it is for `signed` to say.

        Raises:
            BadInputError: there is none, or it is not of this form.
        """
        if not folder.is_dir():
            raise BadInputError(f"there is no backup at {folder}")
        try:
            note = Note.parse((folder / NAME).read_text(encoding="utf-8"))
            origin, word, document, _ = note.text.split("\n")
            found = cls.model_validate_json(document)
        except FileNotFoundError:
            raise BadInputError(f"{folder} has no {NAME}: this backup was never finished; take another one") from None
        except (TamperError, ValidationError, ValueError):
            raise BadInputError(f"{folder / NAME} is no manifest of a backup; take another backup") from None
        if word != _WORD or origin != found.origin or found.text != note.text or found.format != FORMAT:
            raise BadInputError(f"{folder / NAME} is no manifest of a backup; take another backup")
        return found, note

    def signed(self, note: Note, chain: KeyChain) -> bool:
        """Say whether a key signed it that was in force at this size."""
        retired = {each.number - 1 for each in chain.keys if each.after < self.size}
        in_force = (each.key for each in chain.keys if each.after <= self.size and each.number not in retired)
        return any(key.name == self.origin and note.signed_by(key) for key in in_force)

    def check(self, folder: Path) -> None:
        """Compare every file with what is listed.

        Raises:
            TamperError: one is missing, cut off or changed; names it.
        """
        for listed in self.files:
            path = folder / listed.name
            if not path.is_file():
                raise TamperError(f"the backup lacks {listed.name}; nothing was restored")
            if (size := path.stat().st_size) != listed.bytes:
                raise TamperError(
                    f"{listed.name} has {size} bytes and should have {listed.bytes}; nothing was restored"
                )
            if digest_of(path) != listed.sha256:
                raise TamperError(f"{listed.name} is not the file that was backed up; nothing was restored")

    def file(self, table: str) -> Listed:
        """Find the file of a table."""
        return next(listed for listed in self.files if listed.table == table)


def digest_of(path: Path) -> str:
    """Digest a file, in hex."""
    digest = sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
