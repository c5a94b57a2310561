"""The supervisor of the embedded servers: start together, know who died, bring it back, leave nothing running."""

import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import zip_longest
from types import MappingProxyType, TracebackType
from typing import Protocol, Self

from ops.embedded.child import Child, Program
from ops.embedded.errors import EmbeddedError
from ops.embedded.folders import Folders, make_data, make_folders
from ops.embedded.lock import DirectoryLock
from ops.embedded.milvus import Milvus
from ops.embedded.postgres import SETTINGS, VAULT_SETTINGS, Cluster, choose_identity
from ops.embedded.privilege import SELF
from ops.embedded.valkey import Valkey
from ops.settings import Settings

POSTGRES_LOG = "postgres-log"
POSTGRES_VAULT = "postgres-vault"
VALKEY = "valkey"
MILVUS = "milvus"
SERVERS = frozenset({POSTGRES_LOG, POSTGRES_VAULT, VALKEY, MILVUS})

READY_S = 120.0  # recovery after a crash and the load of a large index count too
SETUP_S = 60.0
POLL_S = 0.01


@dataclass(frozen=True)
class Endpoints:
    """Where the four stores are; empty for one that was neither given nor asked for.

    Left out of `repr`, as a URL may hold a password.
    """

    database_url: str = field(repr=False)
    vault_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    milvus_uri: str = field(repr=False)


class Server(Protocol):
    """A kind of server the supervisor can run."""

    @property
    def name(self) -> str:
        """Name it in messages and file names."""

    @property
    def url(self) -> str:
        """Say where clients find it."""

    def setup(self) -> tuple[Program, ...]:
        """List the programs that prepare its files the first time, in order."""

    def finish_setup(self) -> None:
        """Put the prepared files in place."""

    def program(self) -> Program:
        """Describe the server itself."""

    def ready(self) -> bool:
        """Say whether it serves; asked only once the child holds the server's lock."""


class Embedded:
    """The servers whose addresses the settings do not give, as children of this process.

    Start and stop it in the main thread: on Linux a child is told to end when the thread that started it ends.

    Args:
        settings: Says where the data lies and which servers exist already.
        servers: The names to run (see `SERVERS`); all by default.
    """

    def __init__(self, settings: Settings, servers: frozenset[str] | None = None) -> None:
        wanted = SERVERS if servers is None else servers
        if unknown := wanted - SERVERS:
            raise EmbeddedError(
                f"no such embedded server: {', '.join(sorted(unknown))}; known: {', '.join(sorted(SERVERS))}"
            )
        self._settings = settings
        self._given = _given(settings)
        self._names = frozenset(name for name in wanted if not self._given[name])
        self._lock = DirectoryLock(settings.data)
        self._folders: Folders | None = None
        self._servers: dict[str, Server] = {}
        self._children: dict[str, Child] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def endpoints(self) -> Endpoints:
        """Return where the stores are, given ones included."""
        url = {
            name: self._given[name] or (self._servers[name].url if name in self._servers else "") for name in SERVERS
        }
        return Endpoints(url[POSTGRES_LOG], url[POSTGRES_VAULT], url[VALKEY], url[MILVUS])

    def start(self) -> Endpoints:
        """Start what is missing and wait until all of it serves.

        Raises:
            EmbeddedError: Another process runs on this data directory, or a server does not start; nothing is left
                running.
        """
        if not self._names or self._children:
            return self.endpoints
        make_data(self._settings.data)
        self._lock.acquire()
        try:
            self._folders = make_folders(self._settings.data)
            self._servers = _servers(self._folders, self._names)
            self._launch()
        except BaseException:
            self.stop()
            raise
        return self.endpoints

    def stop(self) -> None:
        """Stop every child and give the directory back; does nothing the second time."""
        for child in self._children.values():
            child.signal_stop()
        for child in self._children.values():
            child.stop()
        self._children = {}
        self._servers = {}
        if self._folders is not None:
            self._folders.close()
            self._folders = None
        self._lock.release()

    def processes(self) -> dict[str, int]:
        """Return the process id of each child, living or dead."""
        return {name: child.pid for name, child in self._children.items()}

    def dead(self) -> list[str]:
        """Return the names of the children that died by themselves."""
        return [name for name, child in self._children.items() if child.exit_code() is not None]

    def revive(self, name: str) -> None:
        """Start a dead child again on its files and wait until it serves; a living one is left alone.

        Raises:
            EmbeddedError: It does not come back, or was never started.
        """
        if name not in self._children:
            raise EmbeddedError(f"{name} is not an embedded server of this process")
        if self._children[name].exit_code() is None:
            return
        self._children[name] = Child(self._servers[name].program())
        self._wait_ready([name])

    def _launch(self) -> None:
        fresh = [(server, steps) for server in self._servers.values() if (steps := server.setup())]
        waiting = [server.name for server, _ in fresh]
        self._spawn(name for name in self._servers if name not in waiting)
        for step in zip_longest(*(steps for _, steps in fresh)):
            _run_together([program for program in step if program is not None])
        for server, _ in fresh:
            server.finish_setup()
        self._spawn(waiting)
        self._wait_ready(self._servers)

    def _spawn(self, names: Iterable[str]) -> None:
        for name in names:
            self._children[name] = Child(self._servers[name].program())

    def _wait_ready(self, names: Iterable[str]) -> None:
        deadline = time.monotonic() + READY_S
        for name in names:
            server, child = self._servers[name], self._children[name]
            while not (child.took_over() and server.ready()):
                if child.exit_code() is not None:
                    raise child.failure()
                if time.monotonic() > deadline:
                    raise EmbeddedError(f"{name} does not serve after {READY_S:.0f} s; see {child.program.log}")
                time.sleep(POLL_S)


def _given(settings: Settings) -> dict[str, str | None]:
    return {
        POSTGRES_LOG: settings.database_url,
        POSTGRES_VAULT: settings.vault_url,
        VALKEY: settings.redis_url,
        MILVUS: settings.milvus_uri,
    }


def _servers(folders: Folders, names: frozenset[str]) -> dict[str, Server]:
    identity = choose_identity(folders) if names & {POSTGRES_LOG, POSTGRES_VAULT} else SELF
    vault_settings = MappingProxyType({**SETTINGS, **VAULT_SETTINGS})
    # the slowest to start comes first
    every: tuple[Server, ...] = (
        Milvus(MILVUS, folders),
        Cluster(POSTGRES_LOG, "log", "cenotaph", folders, identity, SETTINGS),
        Cluster(POSTGRES_VAULT, "vault", "vault", folders, identity, vault_settings),
        Valkey(VALKEY, folders),
    )
    return {server.name: server for server in every if server.name in names}


def _run_together(programs: list[Program]) -> None:
    with contextlib.ExitStack() as started:
        children: list[Child] = []
        for program in programs:
            child = Child(program)
            started.callback(child.stop)
            children.append(child)
        for child in children:
            child.wait(SETUP_S)
