"""Memory of a process and all its children, from /proc: the proportional set size, which counts shared pages once."""

import threading
import time
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Self

_PROC = Path("/proc")
_PPID = 1  # of the fields behind the name of /proc/PID/stat
_KIB = 1024
_LINES = ("Pss", "Rss")
_SHARE = 20.0  # looking takes a twentieth of the time at most: what is measured beside it must not pay for it


def tree(root: int) -> list[int]:
    """Return a process and all below it."""
    children: dict[int, list[int]] = defaultdict(list)
    for stat in _PROC.glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        children[int(fields[_PPID])].append(int(stat.parent.name))
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def sizes(pid: int) -> dict[str, int]:
    """Return `Pss` and `Rss` of one process in bytes, zeros once it has ended."""
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        lines = []
    parsed = {name: rest for name, _, rest in (line.partition(":") for line in lines)}
    return {name: int(parsed[name].split()[0]) * _KIB if name in parsed else 0 for name in _LINES}


class PeakMemory:
    """Samples a process tree in a thread until the block ends, seldom enough not to be felt.

    `peak` holds the highest sum of `Pss` and, apart, of `Rss`, in bytes; `processes` the most processes seen.
    """

    def __init__(self, root: int, every_s: float = 0.5) -> None:
        self.peak = dict.fromkeys(_LINES, 0)
        self.processes = 0
        self.samples = 0
        self._root = root
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)

    def __enter__(self) -> Self:
        self.sample()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def sample(self) -> None:
        """Look once."""
        pids = tree(self._root)
        measured = [sizes(pid) for pid in pids]
        self.processes = max(self.processes, len(pids))
        for name in _LINES:
            self.peak[name] = max(self.peak[name], sum(each[name] for each in measured))
        self.samples += 1

    def _watch(self) -> None:
        pause = self._every_s
        while not self._stop.wait(pause):
            begun = time.perf_counter()
            self.sample()
            pause = max(self._every_s, _SHARE * (time.perf_counter() - begun))
