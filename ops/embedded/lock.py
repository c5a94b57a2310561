"""One supervisor for one data directory, and one server for its files."""

import fcntl
import os
import time
from pathlib import Path

from ops.embedded.errors import EmbeddedError


class DirectoryLock:
    """An exclusive lock on `<data>/cenotaph.lock`; the kernel frees it when the holder ends, however it ends."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._path = data / "cenotaph.lock"
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take the lock and write our process id into it.

        Raises:
            EmbeddedError: Another process holds it; names that process and what to do.
        """
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.read(fd, 32).decode().strip() or "unknown"
            os.close(fd)
            raise EmbeddedError(
                f"another cenotaph (pid {pid}) already runs on {self._data}; "
                f"stop it (kill {pid}) or set CENOTAPH_DATA to another directory"
            ) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        self._fd = fd

    def release(self) -> None:
        """Give the lock back; the file stays, because removing it would let two holders in."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def wait_free(path: Path, timeout: float = 60.0) -> None:
    """Wait until no process of an earlier server holds its lock (see `launch.hold`).

    Raises:
        EmbeddedError: One still does.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + timeout
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    pid = os.read(fd, 32).decode().strip()
                    raise EmbeddedError(f"process {pid} still holds {path}; end it and start again") from None
                time.sleep(0.02)
            else:
                return
    finally:
        os.close(fd)
