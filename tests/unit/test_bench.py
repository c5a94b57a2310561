import os
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import BadInputError, CenotaphError
from events.model import Message, MessageId, Origin, Role, SessionId, Turn, TurnId, TurnStatus
from ops.bench import look
from ops.bench.facts import facts
from ops.bench.forgetting.load import Window
from ops.bench.forgetting.readers import Readers, reading
from ops.bench.memory_use import PeakMemory, sizes, tree
from ops.bench.times import Clocks, percentile
from ops.bench.years.chart import chart
from services.extraction.extract import extract
from services.extraction.vocabulary import holds_several


def spoken(text: str) -> Turn:
    message = Message(message_id=MessageId(uuid4()), role=Role.USER, origin=Origin.USER, content=text)
    return Turn(
        turn_id=TurnId(uuid4()),
        session_id=SessionId(uuid4()),
        status=TurnStatus.COMPLETED,
        occurred_at=datetime(2026, 8, 1, tzinfo=UTC),
        messages=(message,),
    )


def test_facts_are_distinct_and_kept_side_by_side() -> None:
    """Each fact gives one candidate, with a value of its own, under a key of several, so none supersedes another."""
    known = facts(400)
    seen = set()
    for fact in known:
        (candidate,) = extract(spoken(fact.text)).candidates
        assert fact.value in candidate.content
        assert candidate.key is not None
        assert holds_several(candidate.key)
        seen.add(candidate.value)
    assert len(seen) == len(known)


def test_facts_come_in_both_languages() -> None:
    """Chinese and English take turns, so that any number is half of each."""
    first, second = facts(2)
    assert not first.text.isascii()
    assert second.text.isascii()


def test_more_facts_than_there_are_is_refused() -> None:
    """A run that would repeat a fact does not start."""
    with pytest.raises(SystemExit, match="at most 400"):
        facts(401)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=300), st.integers(1, 100))
def test_a_percentile_is_the_smallest_value_that_enough_do_not_exceed(values: list[float], percent: int) -> None:
    """The nearest rank: at least so many percent lie at or below it, and fewer below it."""
    ordered = sorted(values)
    found = percentile(ordered, percent)
    assert sum(value <= found for value in ordered) * 100 >= percent * len(ordered)
    assert sum(value < found for value in ordered) * 100 < percent * len(ordered)


def test_the_summary_is_in_milliseconds() -> None:
    """Two hundred steps of 1 to 200 ms have their median at 100 ms and the 99th percentile at 198 ms."""
    clocks = Clocks()
    for milliseconds in range(1, 201):
        clocks.add("step", milliseconds / 1000)
    assert clocks.summary() == {"step": {"n": 200, "p50_ms": 100.0, "p95_ms": 190.0, "p99_ms": 198.0, "max_ms": 200.0}}


def test_memory_counts_the_children() -> None:
    """What a child process holds counts for its parent's tree."""
    held = 64 << 20
    code = f"b = bytearray(b'x' * {held}); print('ready', flush=True); input()"
    before = sum(sizes(pid)["Pss"] for pid in tree(os.getpid()))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        assert child.pid in tree(os.getpid())
        with PeakMemory(os.getpid(), every_s=60) as memory:
            pass
        child.communicate("\n")
    assert memory.processes >= 2
    assert memory.peak["Pss"] - before > held * 3 // 4
    assert child.pid not in tree(os.getpid())


def test_a_process_that_ended_holds_nothing() -> None:
    """Between listing and reading a process may end; that is no error."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    assert sizes(child.pid) == {"Pss": 0, "Rss": 0}


@pytest.mark.parametrize(("of", "count"), [(100, 20), (3, 20), (0, 20), (20, 20)])
def test_questions_are_spread_evenly(of: int, count: int) -> None:
    """As many as asked for or as there are, in order, none twice, over the whole length."""
    every = [look.Question("she", str(number)) for number in range(of)]
    chosen = [int(question.text) for question in look.spread(every, count)]
    assert len(chosen) == min(of, count)
    assert chosen == sorted(set(chosen))
    assert not chosen or chosen[-1] >= of - of // len(chosen) - 1


def test_looking_refuses_to_write_into_the_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The data may not be redistributed, so nothing of them is written where it could be committed."""
    inside = Path(look.__file__).parent / "out"
    with pytest.raises(SystemExit):
        look.main(["--path", str(tmp_path), "--data", "locomo", "--out", str(inside)])
    assert "write elsewhere" in capsys.readouterr().err
    assert not inside.exists()


def test_the_chart_of_years_has_a_line_for_everything_that_is_shown() -> None:
    """Six lines of as many points as there are samples, inside the picture."""
    samples = [
        {
            "day": day,
            "sizes": {"written": 100 + day, "living": 90, "cold": day // 20, "messages": 200},
            "found": {"asked": 1.0, "used": 1.0, "unused": 0.5},
        }
        for day in (0, 364, 728)
    ]
    lines = [points.split() for points in re.findall(r'<polyline points="([^"]+)"', chart(samples, 7))]
    assert [len(points) for points in lines] == [3] * 6
    assert all(0 <= float(each) <= 900 for points in lines for point in points for each in point.split(","))


def test_a_read_that_began_after_the_commit_is_a_hit() -> None:
    """Reads are judged by when they began; one that began before, or gave another memory, is none."""
    readers = Readers([])
    for memory, started, way in ((1, 99.9, "search"), (1, 100.1, "search"), (2, 150.0, "show"), (2, 201.0, "context")):
        readers.given.append({"memory_id": str(UUID(int=memory)), "started": started, "way": way})
    readers.given.append({"memory_id": str(UUID(int=3)), "started": 999.0, "way": "list"})
    assert readers.hits({str(UUID(int=1)): 100.0, str(UUID(int=2)): 200.0}) == {"search": 1, "context": 1}


@pytest.mark.parametrize(
    ("rate", "backlog", "drained_s", "refused", "wanted"),
    [
        (1.0, [1] * 80, 0.4, 0, True),
        (1.0, [*([0] * 40), *([1] * 40)], 0.4, 0, True),
        (4.0, range(80), 0.4, 0, False),
        (1.0, [n // 20 for n in range(80)], 0.4, 0, False),
        (10.0, [15] * 80, 1.5, 0, True),
        (10.0, [21] * 80, 1.5, 0, False),
        (10.0, [15] * 80, 2.1, 0, False),
        (10.0, [0] * 80, 0.1, 1, False),
        (0.1, [2] * 80, 0.4, 0, True),
    ],
    ids=["even", "one_more", "grows", "grows_slowly", "evenly_late", "too_late", "considered_late", "refused", "few"],
)
def test_a_rate_is_flat_where_no_more_waits_in_the_end_and_all_is_considered_soon(
    rate: float, backlog: Sequence[int], drained_s: float, refused: int, wanted: bool
) -> None:
    """A backlog that grows by more than a turn, two seconds' worth of it, a late or a refused turn: none is flat."""
    assert Window(rate, list(backlog), drained_s, refused).flat is wanted


async def test_readers_have_ended_however_the_block_ends(capfd: pytest.CaptureFixture[str]) -> None:
    """An error of the block is passed on as it is; a reader that fails is one error of its own."""
    closed = "http://127.0.0.1:9"
    with pytest.raises(BadInputError, match="of the block"):
        async with reading(closed, "key", "she", 1) as read:
            raise BadInputError("of the block")
    assert [process.returncode for process in read.processes] == [0]
    with pytest.raises(CenotaphError, match="1 of 1 readers failed"):
        async with reading(closed, "key", "she", 1) as read:
            await read.tell(nothing="it knows")
    assert "KeyError" in capfd.readouterr().err
