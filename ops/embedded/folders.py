"""Where the embedded servers keep their files, and the private folder of their sockets."""

import os
import re
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ops.embedded.errors import EmbeddedError
from ops.embedded.privilege import SELF, Identity

LONGEST_SOCKET = "vault/.s.PGSQL.5432"
SOCKET_PATH_BYTES = 100  # sun_path holds 107 bytes on Linux and 103 on macOS
PLAIN = re.compile(r"[A-Za-z0-9_./-]+")  # what every client's URL parser leaves alone
POINTER = "run.path"


@dataclass(frozen=True)
class Folders:
    """The folders of one data directory; everything below it is closed to other users (0700)."""

    data: Path
    run: Path

    @property
    def logs(self) -> Path:
        """Where the servers' own log files are."""
        return self.data / "logs"

    @property
    def locks(self) -> Path:
        """Where each server's lock file is."""
        return self.data / "locks"

    def close(self) -> None:
        """Remove the folder of the sockets when it lies outside the data directory."""
        if self.run.parent != self.data:
            shutil.rmtree(self.run, ignore_errors=True)
            (self.data / POINTER).unlink(missing_ok=True)


def private(folder: Path, identity: Identity = SELF) -> Path:
    """Make the folder, give it to that identity and close it to all others.

    Raises:
        EmbeddedError: Somebody else made it.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {os.geteuid(), identity.owner}:
        raise EmbeddedError(f"{folder} belongs to somebody else; remove it or set CENOTAPH_DATA to another directory")
    folder.chmod(0o700)
    identity.own(folder)
    return folder


def make_data(data: Path) -> None:
    """Make the data directory; an existing one keeps its mode, since it may be a mount or hold other things.

    Raises:
        EmbeddedError: Every user may write to it, so anybody could put other files in place of ours.
    """
    data.parent.mkdir(parents=True, exist_ok=True)
    data.mkdir(mode=0o700, exist_ok=True)
    if data.stat().st_mode & stat.S_IWOTH:
        raise EmbeddedError(f"every user may write to {data}; run chmod o-w on it or choose another CENOTAPH_DATA")


def make_folders(data: Path) -> Folders:
    """Make what the servers need below the data directory (which the caller holds the lock of)."""
    folders = Folders(data, _run(data))
    private(folders.logs)
    private(folders.locks)
    return folders


def _run(data: Path) -> Path:
    if _fits(data / "run"):
        return private(data / "run")
    pointer = data / POINTER
    if pointer.exists() and _ours(remembered := Path(pointer.read_text(encoding="utf-8"))):
        return private(remembered)
    run = Path(tempfile.mkdtemp(prefix="cenotaph-"))
    if not _fits(run):
        run.rmdir()
        raise EmbeddedError(f"{run} is too long a path for a socket; set TMPDIR to a short one such as /tmp")
    pointer.write_text(str(run), encoding="utf-8")
    return run


def _fits(run: Path) -> bool:
    path = str(run / LONGEST_SOCKET)
    return len(os.fsencode(path)) <= SOCKET_PATH_BYTES and PLAIN.fullmatch(path) is not None


def _ours(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and _fits(folder)
