"""Failpoints do nothing unless the environment asks for it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = "from events.failpoint import hit\nfor _ in range(5):\n    hit('a')\n    hit('b')\nprint('through')\n"


def run(**environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, check=False
    )


def test_nothing_happens_by_itself() -> None:
    """Without the variables a failpoint is passed."""
    assert run().stdout == b"through\n"


def test_the_process_is_killed_at_the_hit_that_was_asked_for(tmp_path: Path) -> None:
    """It dies by SIGKILL at the n-th hit of that name, and every hit until then is noted."""
    notes = tmp_path / "hits"
    ended = run(CENOTAPH_FAILPOINT="b:3", CENOTAPH_FAILPOINT_HITS=str(notes))
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, b"")
    assert notes.read_text(encoding="ascii").split() == ["a", "b"] * 3
