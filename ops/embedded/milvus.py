"""Milvus Lite in a child process: a socket only we can open, and searches that do not hold our interpreter's lock."""

import importlib.util
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from ops.embedded.child import Program
from ops.embedded.errors import EmbeddedError
from ops.embedded.folders import Folders, private

# A search costs 70 µs per row in the memtable and 2 µs per flushed row, so the memtable stays small.
MEMTABLE_BYTES = 2_000_000


@dataclass(frozen=True)
class Milvus:
    """The vector index of one machine."""

    name: str
    folders: Folders

    @property
    def url(self) -> str:
        """Return the address as pymilvus reads it."""
        return f"unix:{self._socket}"

    def setup(self) -> tuple[Program, ...]:
        """Return nothing: the server makes its files itself."""
        return ()

    def finish_setup(self) -> None:
        """Do nothing, for the same reason."""

    def program(self) -> Program:
        """Return the server.

        Raises:
            EmbeddedError: The wheel is not installed.
        """
        if importlib.util.find_spec("milvus_lite") is None:
            raise EmbeddedError("Milvus Lite is not installed here: pip install 'cenotaph[server]', or set MILVUS_URI")
        # In a wheel our packages lie in a folder that only the `cenotaph` command has on its path.
        packages = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        data = private(self.folders.data / "milvus")
        return Program(
            name=self.name,
            command=(sys.executable, "-m", "ops.embedded.milvus_host", str(data), str(self._socket)),
            log=self.folders.logs / f"{self.name}.log",
            lock=self.folders.locks / self.name,
            stale=(self._socket,),
            # Nobody waits for an orphan's last calls, and its interpreter may be busy: it recovers from its WAL.
            orphan_signal=signal.SIGKILL,
            env={
                "PYTHONPATH": os.pathsep.join(packages),
                "PYTHONUTF8": "1",
                "MILVUS_LITE_MEMTABLE_MEMORY_LIMIT_BYTES": str(MEMTABLE_BYTES),
            },
        )

    def ready(self) -> bool:
        """Say whether it serves: the host moves its socket to this path once it does."""
        return self._socket.is_socket()

    @property
    def _socket(self) -> Path:
        return self.folders.run / "milvus.sock"
