"""The folder of a backup while it is written: private, synced, and complete only with its manifest."""

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Self

from events.errors import BadInputError
from events.keyfile import write_once
from ops.backup.manifest import NAME, Listed


def fresh(folder: Path) -> Path:
    """Make a folder of mode 0700, with nothing in it.

    Raises:
        BadInputError: something is there already.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise BadInputError(f"{folder} is not empty; give each backup a folder of its own")
    folder.chmod(0o700)
    return folder


class TableFile:
    """A file of mode 0600 that a table is copied into, digested on the way; durable when it is left without an error.

    Args:
        folder: the folder of the backup.
        table: schema and name.
        columns: of the table, in the order of the fields.
    """

    def __init__(self, folder: Path, table: str, columns: Iterable[str]) -> None:
        self._table = table
        self._columns = tuple(columns)
        self._path = folder / f"{table}.copy"
        self._digest = sha256()
        self._bytes = 0
        self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            self._file.flush()
            os.fsync(self._file.fileno())

    def write(self, data: bytes) -> None:
        """Write the next piece."""
        self._digest.update(data)
        self._bytes += self._file.write(data)

    async def take(self, data: bytes) -> None:
        """Write the next piece, as the database driver hands it over."""
        self.write(data)

    def listed(self, rows: int) -> Listed:
        """Say what was written."""
        return Listed(
            name=self._path.name,
            table=self._table,
            columns=self._columns,
            rows=rows,
            bytes=self._bytes,
            sha256=self._digest.hexdigest(),
        )


def finish(folder: Path, note: str) -> None:
    """Write the manifest, which makes the backup whole; the folder's names are durable when this returns."""
    write_once(folder / NAME, note.encode())
