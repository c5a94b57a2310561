"""The state file of `cenotaph up`: who runs on a data directory, where it listens, where its stores are."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from events.errors import CenotaphError
from events.model import Frozen
from ops.embedded import EmbeddedError, Endpoints
from ops.embedded.folders import make_data

NAME = "up.json"
_PROBING_S = 0.3  # a reader that asks whether somebody runs holds the lock for a moment
_POLL_S = 0.02


class RunState(Frozen):
    """A running `up`; address and stores are None while it starts."""

    pid: int
    url: str | None = None
    endpoints: Endpoints | None = None


class Claim:
    """The right to run on a data directory, for as long as the process holds the file's lock."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def publish(self, state: RunState) -> None:
        """Let others know."""
        written = os.pwrite(self._handle, state.model_dump_json().encode(), 0)
        os.ftruncate(self._handle, written)


@contextmanager
def claim(data: Path) -> Iterator[Claim]:
    """Claim a data directory; the kernel gives it back however this process ends.

    Raises:
        EmbeddedError: another process runs on it; names it and what to do.
    """
    make_data(data)
    handle = os.open(data / NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        deadline = time.monotonic() + _PROBING_S
        while not _locked(handle, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"another cenotaph (pid {_read(handle).pid}) already runs on {data}; "
                    "stop it with `cenotaph down` or name another directory with --data"
                )
            time.sleep(_POLL_S)
        made = Claim(handle)
        made.publish(RunState(pid=os.getpid()))
        yield made
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def running(data: Path) -> RunState | None:
    """Return who runs on a data directory, None if nobody does."""
    try:
        handle = os.open(data / NAME, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    deadline = time.monotonic() + _PROBING_S
    try:
        while not _locked(handle, fcntl.LOCK_SH):
            try:
                return _read(handle)
            except CenotaphError:  # between claiming and publishing, or between clearing and letting go
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_S)
        return None
    finally:
        os.close(handle)


def _locked(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(handle: int) -> RunState:
    try:
        return RunState.model_validate_json(os.pread(handle, 1 << 16, 0))
    except ValidationError:
        raise CenotaphError("the one that runs here is just starting or stopping; try again") from None
