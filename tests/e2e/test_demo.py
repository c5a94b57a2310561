"""The demo, as a stranger runs it first."""

import re
import subprocess
import tempfile
from pathlib import Path

from tests.e2e.command import environment, run


def test_the_demo_holds_and_leaves_nothing(tmp_path: Path) -> None:
    """Every check holds, nothing runs and nothing lies about afterwards, and a given data directory stays untouched."""
    with tempfile.TemporaryDirectory(prefix="c") as temporary:  # short: it holds sockets
        done = run(environment(tmp_path, TMPDIR=temporary), "demo", timeout=150)
        left = [*tmp_path.iterdir(), *Path(temporary).iterdir()]
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "✘" not in done.stdout
    met = re.search(r"(\d+) of (\d+) expectations", done.stdout)
    assert met is not None
    assert int(met[1]) >= 0.85 * int(met[2])
    assert not left
    listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout  # noqa: S607 - whichever ps there is
    assert temporary not in listed
