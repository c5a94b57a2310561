import os
import stat
from pathlib import Path

import pytest

from events.errors import CenotaphError
from ops.embedded import EmbeddedError, Endpoints
from ops.state import NAME, RunState, claim, running

STORES = Endpoints("postgresql://log", "postgresql://vault", "unix:///redis", "unix:/milvus")


def test_nobody_runs_where_nobody_claimed(tmp_path: Path) -> None:
    """Neither an empty folder nor the file of one that ended says that somebody runs."""
    assert running(tmp_path) is None
    with claim(tmp_path):
        pass
    assert running(tmp_path) is None
    (tmp_path / NAME).write_text(RunState(pid=1, url="http://stale").model_dump_json())
    assert running(tmp_path) is None


def test_a_claim_is_seen_and_says_where_everything_is(tmp_path: Path) -> None:
    """While it starts only the process is known, then the address and the stores; only the owner may read it."""
    with claim(tmp_path) as held:
        assert running(tmp_path) == RunState(pid=os.getpid())
        state = RunState(pid=os.getpid(), url="http://127.0.0.1:8765", endpoints=STORES)
        held.publish(state)
        assert running(tmp_path) == state
        assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


def test_a_second_claim_is_refused(tmp_path: Path) -> None:
    """The message names the process and what to do."""
    with claim(tmp_path), pytest.raises(EmbeddedError, match=rf"pid {os.getpid()}\) already runs.*cenotaph down"):
        claim(tmp_path).__enter__()


def test_a_state_nobody_can_read_is_an_error(tmp_path: Path) -> None:
    """Somebody runs, but has not said yet who it is."""
    with claim(tmp_path):
        (tmp_path / NAME).write_text("{")
        with pytest.raises(CenotaphError, match="try again"):
            running(tmp_path)
