"""A child process: how it is started, watched and stopped."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ops.embedded.errors import EmbeddedError
from ops.embedded.privilege import SELF, Identity

LAUNCHER = Path(__file__).with_name("launch.py")
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
LOG_BYTES = 10 * 1024 * 1024
KILL_AFTER_S = 10.0
QUIT_AFTER_S = 2.0


@dataclass(frozen=True)
class Program:
    """What to run, and under which conditions.

    `lock` is held by the server and all it forks. `stale` files are removed under that lock, before the server starts.
    `follow_by_pipe` replaces Linux's parent-death signal by a watcher process. `last_resort` is tried before SIGKILL.
    `orphan_signal` ends it when the supervisor was killed; the stop signal by default.
    """

    name: str
    command: tuple[str, ...]
    log: Path
    lock: Path | None = None
    stale: tuple[Path, ...] = ()
    stop_signal: signal.Signals = signal.SIGTERM
    last_resort: signal.Signals = signal.SIGKILL
    orphan_signal: signal.Signals | None = None
    identity: Identity = SELF
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    follow_by_pipe: bool = sys.platform != "linux"


class Child:
    """A running program: a direct child, in a process group of its own, that does not outlive us."""

    def __init__(self, program: Program) -> None:
        # Linux sends the parent-death signal when the *thread* that started the child ends
        if threading.current_thread() is not threading.main_thread():
            raise EmbeddedError(
                f"start {program.name} from the main thread; a child ends with the thread that started it"
            )
        self.program = program
        self._asked = False
        self._pipe: int | None = None
        pipe = None
        if program.follow_by_pipe:
            pipe, self._pipe = os.pipe()
        spec = {
            "lock": str(program.lock) if program.lock else None,
            "stale": [str(path) for path in program.stale],
            "orphan_signal": int(program.orphan_signal or program.stop_signal),
            "identity": program.identity.as_dict(),
            "parent": os.getpid(),
            "pipe": pipe,
        }
        with _open_log(program.log) as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own launcher and a fixed list, no shell
                [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(spec), *program.command],
                stdin=subprocess.PIPE if program.stdin else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={name: os.environ[name] for name in PASSED_ON if name in os.environ} | dict(program.env),
                cwd="/",
                pass_fds=() if pipe is None else (pipe,),
                process_group=0,  # Ctrl-C in a terminal must reach the supervisor only
                text=True,
            )
        if pipe is not None:
            os.close(pipe)
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it died already; wait() reports that
                self._process.stdin.write(program.stdin)
                self._process.stdin.close()

    @property
    def pid(self) -> int:
        """Return the process id of the server."""
        return self._process.pid

    def took_over(self) -> bool:
        """Say whether it holds its lock, so that what lies at its socket's path is no longer a predecessor's."""
        lock = self.program.lock
        return lock is None or (lock.exists() and lock.read_text(encoding="ascii") == f"{self.pid}\n")

    def exit_code(self) -> int | None:
        """Return how it ended, or None while it runs."""
        code = self._process.poll()
        if code is not None:
            self._close_pipe()
        return code

    def wait(self, timeout: float) -> None:
        """Wait for a program that is to end by itself.

        Raises:
            EmbeddedError: It failed, or did not end in time.
        """
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.stop()
            raise EmbeddedError(
                f"{self.program.name} did not end within {timeout:.0f} s; see {self.program.log}"
            ) from None
        self._close_pipe()
        if code != 0:
            raise self.failure()

    def failure(self) -> EmbeddedError:
        """Describe how it died: exit code, the last line of its log, where to read on."""
        lines = self.program.log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it logged nothing")
        code = self._process.returncode
        return EmbeddedError(f"{self.program.name} ended with code {code}: {last} (see {self.program.log})")

    def signal_stop(self) -> None:
        """Ask it to stop, without waiting."""
        if not self._asked and self._process.poll() is None:
            self._process.send_signal(self.program.stop_signal)
            self._asked = True

    def stop(self) -> None:
        """Stop it: politely, after 10 s by the last resort, then by SIGKILL."""
        self.signal_stop()
        for timeout, harder in ((KILL_AFTER_S, self.program.last_resort), (QUIT_AFTER_S, signal.SIGKILL)):
            try:
                self._process.wait(timeout)
                break
            except subprocess.TimeoutExpired:
                self._process.send_signal(harder)
        self._process.wait()
        self._close_pipe()

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None


def _open_log(path: Path) -> BinaryIO:
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb")
