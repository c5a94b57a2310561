"""A `cenotaph up` of its own on a new, temporary data directory, as a user would start it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from events.errors import CenotaphError
from ops.cli.places import tenant_key
from ops.embedded import Endpoints
from ops.settings import Settings, load_settings
from ops.state import running

_COMMAND = (sys.executable, "-c", "from cenotaph.boot import main; main()")
_READY_S = 120.0
_STOP_S = 60.0
_POLL_S = 0.05
_STORES = ("DATABASE_URL", "VAULT_URL", "REDIS_URL", "MILVUS_URI")


@dataclass(frozen=True)
class Up:
    """What runs: its process, where it listens, a tenant's key, its settings and stores."""

    pid: int
    url: str
    key: str
    settings: Settings
    endpoints: Endpoints
    started_s: float


@contextmanager
def up() -> Iterator[Up]:
    """Run everything for the length of a block, on embedded servers and files that are gone afterwards.

    Raises:
        CenotaphError: it does not start.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CENOTAPH_")}
    environment = {name: value for name, value in kept.items() if name not in _STORES}
    with tempfile.TemporaryDirectory(prefix="cenotaph-bench-") as folder:
        data, printed = Path(folder) / "data", Path(folder) / "up.log"
        settings = load_settings(data=data, database_url=None, vault_url=None, redis_url=None, milvus_uri=None)
        begun = time.monotonic()
        with printed.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603  # our own command
                [*_COMMAND, "up", "--data", str(data), "--port", "0"], env=environment, stdout=out, stderr=out
            )
        try:
            url, endpoints = _ready(process, data, printed)
            key = tenant_key(settings).read_text(encoding="ascii").strip()
            yield Up(process.pid, url, key, settings, endpoints, time.monotonic() - begun)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _ready(process: "subprocess.Popen[bytes]", data: Path, printed: Path) -> tuple[str, Endpoints]:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            state = running(data)
        except CenotaphError:  # it is just writing the file
            state = None
        if state is not None and state.url is not None and state.endpoints is not None:
            return state.url, state.endpoints
        time.sleep(_POLL_S)
    raise CenotaphError("`cenotaph up` did not start:\n" + printed.read_text(encoding="utf-8", errors="replace"))
