"""Running the `cenotaph` command as a user does: in processes of its own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

ROOT = Path(__file__).parent.parent.parent
COMMAND = (sys.executable, "-c", "from cenotaph.boot import main; main()")
_STORES = ("DATABASE_URL", "VAULT_URL", "REDIS_URL", "MILVUS_URI")


def environment(data: Path, **extra: str) -> dict[str, str]:
    """Make an environment in which nothing of cenotaph is set but what is given."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("CENOTAPH_") and name not in _STORES
    }
    return kept | {"CENOTAPH_DATA": str(data), "COLUMNS": "200", "NO_COLOR": "1"} | extra


def run(env: Mapping[str, str], *args: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *args], cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=timeout
    )


def ok(env: Mapping[str, str], *args: str, timeout: float = 60) -> str:
    """Run a command that must succeed; return what it printed."""
    done = run(env, *args, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Process:
    """A command that stays, and the lines it printed."""

    def __init__(self, env: Mapping[str, str], *args: str) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, *args],
            cwd=ROOT,
            env={**env, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._queue: Queue[str | None] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def until(self, words: str, timeout: float = 150) -> str:
        """Wait until it prints a line with these words."""
        while True:
            try:
                line = self._queue.get(timeout=timeout)
            except Empty:
                line = None
            if line is None:
                raise AssertionError(f"it never said {words!r}:\n" + "".join(self.lines))
            if words in line:
                return line

    def stop(self, number: signal.Signals = signal.SIGTERM, timeout: float = 30) -> int:
        """Signal it, wait for its end and return its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self.wait(timeout)

    def wait(self, timeout: float = 30) -> int:
        """Wait for its end and return its exit code."""
        try:
            code = self._process.wait(timeout)
        finally:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)
            self._queue.put(line)
        self._queue.put(None)


@contextmanager
def started(env: Mapping[str, str], *args: str) -> Iterator[Process]:
    """Run a command for the length of a block."""
    process = Process(env, *args)
    try:
        yield process
    finally:
        process.stop()
