"""The vector index on a real Milvus Lite: scope, order, torn reads, restarts, and the probe's own eyes."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from events.errors import ScopeError, UnavailableError
from events.model import MemoryId, Position, Scope, SubjectId, TenantId
from projections.milvus import READERS, Milvus
from projections.vector_probe import VectorProbe
from projections.vector_scope import partition_of, scope_filter
from projections.vectors import DIMENSION, FLUSH_ROWS, Hit, Row, Vectors

NAMES = count()
POSITIONS = count(1)
RANDOM = np.random.default_rng(7)


class Host:
    """Milvus Lite in a child process, which can be killed and started again on the same files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uri = f"unix:{folder / 'm.sock'}"
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait for its socket."""
        environment = os.environ | {"MILVUS_LITE_MEMTABLE_MEMORY_LIMIT_BYTES": "4000000"}
        command = [
            sys.executable,
            "-m",
            "ops.embedded.milvus_host",
            str(self.folder / "data"),
            str(self.folder / "m.sock"),
        ]
        with (self.folder / "log").open("ab") as log:
            self._child = subprocess.Popen(command, env=environment, stderr=log, stdout=log)
        deadline = time.monotonic() + 30
        while not (self.folder / "m.sock").is_socket():
            assert self._child.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def stop(self, how: signal.Signals) -> None:
        """End it."""
        if self._child is not None:
            self._child.send_signal(how)
            self._child.wait(20)
        (self.folder / "m.sock").unlink(missing_ok=True)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Let it hold its connections and answer nothing."""
        assert self._child is not None
        self._child.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._child.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    """Run one server for this module; its socket needs a short path."""
    with tempfile.TemporaryDirectory(prefix="mv") as folder:
        host = Host(Path(folder))
        host.start()
        yield host
        host.stop(signal.SIGTERM)


@pytest.fixture
async def milvus(host: Host) -> AsyncIterator[Milvus]:
    """Connect."""
    milvus = Milvus(host.uri)
    yield milvus
    await milvus.close()


@pytest.fixture
async def vectors(milvus: Milvus) -> AsyncIterator[Vectors]:
    """Make an empty collection of its own."""
    vectors = Vectors(milvus, f"test_{next(NAMES)}")
    await vectors.ensure()
    yield vectors
    await vectors.drop()


@pytest.fixture
async def probe(host: Host, vectors: Vectors) -> AsyncIterator[VectorProbe]:
    """Look at that collection from outside."""
    probe = VectorProbe(host.uri, vectors._collection)
    yield probe
    await probe.close()


def _scope() -> Scope:
    return Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))


def _neighbour(scope: Scope) -> Scope:
    """Find another person of the same partition."""
    return next(other for other in iter(_scope, None) if partition_of(other) == partition_of(scope))


def _vector() -> NDArray[np.float32]:
    raw = RANDOM.normal(size=DIMENSION)
    return np.asarray(raw / np.linalg.norm(raw), dtype=np.float32)


def _row(scope: Scope, memory_id: UUID | None = None, version: int = 1, position: int | None = None) -> Row:
    place = Position(next(POSITIONS) if position is None else position)
    return Row(scope, MemoryId(memory_id or uuid4()), version, place, _vector())


def _ids(hits: list[Hit]) -> list[MemoryId]:
    return [hit.memory_id for hit in hits]


async def test_finds_the_nearest_first(vectors: Vectors) -> None:
    """Search returns ids, versions and cosines, best first and no more than asked."""
    scope = _scope()
    rows = [_row(scope, version=at) for at in range(20)]
    await vectors.upsert(rows)
    wanted = np.asarray(0.9 * rows[3].vector + 0.4 * rows[5].vector, dtype=np.float32)
    wanted /= np.linalg.norm(wanted)
    hits = await vectors.search(scope, wanted, 5)
    assert [hit.version for hit in hits[:2]] == [3, 5]
    assert len(hits) == 5
    assert hits[0].memory_id == rows[3].memory_id
    assert hits[0].score == pytest.approx(float(wanted @ rows[3].vector), abs=1e-4)


async def test_finds_the_same_after_a_flush(vectors: Vectors) -> None:
    """Rows in memory and rows in files are searched alike."""
    scope = _scope()
    rows = [_row(scope) for _ in range(50)]
    await vectors.upsert(rows)
    before = await vectors.search(scope, rows[9].vector, 10)
    await vectors.flush()
    after = await vectors.search(scope, rows[9].vector, 10)
    assert _ids(before) == _ids(after)


async def test_a_person_never_written_has_nothing(vectors: Vectors) -> None:
    """Without a partition there is nothing to search, rather than everything."""
    await vectors.upsert([_row(_scope()) for _ in range(5)])
    assert await vectors.search(_scope(), _vector(), 10) == []
    assert await vectors.delete(_scope(), [MemoryId(uuid4())]) == 0


async def test_people_in_one_partition_do_not_meet(vectors: Vectors, probe: VectorProbe) -> None:
    """Neither another subject in the same partition nor the same subject id under another tenant is seen or deleted."""
    scope = _scope()
    neighbour, namesake = _neighbour(scope), Scope(tenant_id=TenantId(uuid4()), subject_id=scope.subject_id)
    mine, theirs, same_name = _row(scope), _row(neighbour), _row(namesake)
    await vectors.upsert([mine, theirs, same_name])
    assert _ids(await vectors.search(scope, theirs.vector, 10)) == [mine.memory_id]
    assert _ids(await vectors.search(scope, same_name.vector, 10)) == [mine.memory_id]
    assert await vectors.delete(scope, [theirs.memory_id, same_name.memory_id]) == 0
    assert [row.subject_id for row in await probe.by_ids([theirs.memory_id])] == [neighbour.subject_id]
    assert [row.tenant_id for row in await probe.by_ids([same_name.memory_id])] == [namesake.tenant_id]


@pytest.mark.parametrize("flushed", [False, True])
async def test_older_never_overwrites_newer(vectors: Vectors, probe: VectorProbe, *, flushed: bool) -> None:
    """Whatever order versions come in, and however often, the one with the highest position stands."""
    scope, memory = _scope(), uuid4()
    old, new = _row(scope, memory, 1, 10), _row(scope, memory, 2, 20)
    assert await vectors.upsert([new, old]) == 1
    if flushed:
        await vectors.flush()
    assert await vectors.upsert([old]) == 0
    assert await vectors.upsert([new]) == 0
    assert [(row.version, row.position) for row in await probe.by_ids([memory])] == [(2, 20)]
    assert await vectors.upsert([_row(scope, memory, 3, 30)]) == 1
    assert [hit.version for hit in await vectors.search(scope, new.vector, 10)] == [3]


@pytest.mark.parametrize("flushed", [False, True])
async def test_what_was_deleted_is_not_found(vectors: Vectors, probe: VectorProbe, *, flushed: bool) -> None:
    """After a delete neither a search nor the probe finds the row, and its neighbours stay."""
    scope = _scope()
    rows = [_row(scope) for _ in range(10)]
    await vectors.upsert(rows)
    if flushed:
        await vectors.flush()
    gone = rows[4]
    assert await vectors.delete(scope, [gone.memory_id]) == 1
    assert gone.memory_id not in _ids(await vectors.search(scope, gone.vector, 10))
    assert await probe.by_ids([gone.memory_id]) == []
    assert all(row.memory_id != gone.memory_id for row in await probe.by_vector(gone.vector))
    assert await probe.count(scope.tenant_id, scope.subject_id) == 9
    assert await vectors.delete(scope, [gone.memory_id]) == 0


async def test_the_probe_finds_what_is_there(vectors: Vectors, probe: VectorProbe) -> None:
    """The control: before a delete the probe finds the row by id, by vector and by count, in memory and in files."""
    row = _row(_scope())
    await vectors.upsert([row])
    for _ in range(2):
        assert [found.position for found in await probe.by_ids([row.memory_id])] == [row.position]
        assert (await probe.by_vector(row.vector, 1))[0].memory_id == row.memory_id
        assert (await probe.by_vector(row.vector, 1, [partition_of(row.scope)]))[0].score == pytest.approx(1, abs=1e-4)
        assert await probe.count(row.scope.tenant_id, row.scope.subject_id) == 1
        await vectors.flush()


async def test_a_search_beside_flushes_misses_nothing(vectors: Vectors) -> None:
    """Milvus Lite alone loses live rows while it flushes; behind the gate a search sees all that was acknowledged."""
    scope, acknowledged, done = _scope(), 0, asyncio.Event()

    async def search() -> list[tuple[int, int]]:
        short = []
        while not done.is_set():
            before = acknowledged
            if (found := len(await vectors.search(scope, _vector(), 100))) < before:
                short.append((found, before))
        return short

    async def write() -> None:
        nonlocal acknowledged
        for _ in range(20):
            await vectors.upsert([_row(scope), *(_row(_scope()) for _ in range(5))])
            acknowledged += 1
            await vectors.flush()
        done.set()

    *missed, _ = await asyncio.gather(search(), search(), search(), write())
    assert missed == [[], [], []]


async def test_unflushed_rows_do_not_pile_up(vectors: Vectors) -> None:
    """After so many written rows the index flushes by itself."""
    scope = _scope()
    await vectors.upsert([_row(scope) for _ in range(FLUSH_ROWS - 1)])
    assert vectors._unflushed == FLUSH_ROWS - 1
    await vectors.upsert([_row(scope)])
    assert vectors._unflushed == 0


async def test_concurrent_writers_lose_nothing(vectors: Vectors, probe: VectorProbe) -> None:
    """Twenty tasks that write at once, versions of the same memories among them, leave the newest of each."""
    scope, shared = _scope(), uuid4()
    await asyncio.gather(
        *(vectors.upsert([_row(scope), _row(scope, shared, at, at)]) for at in RANDOM.permutation(20).tolist())
    )
    assert await probe.count(scope.tenant_id, scope.subject_id) == 21
    assert [row.position for row in await probe.by_ids([shared])] == [19]


async def test_a_cancelled_writer_does_not_let_another_in(vectors: Vectors, probe: VectorProbe) -> None:
    """A write whose caller was cancelled ends before the next begins."""
    scope = _scope()
    rows = [_row(scope) for _ in range(200)]
    task = asyncio.ensure_future(vectors.upsert(rows))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await vectors.delete(scope, [row.memory_id for row in rows])
    assert await probe.count(scope.tenant_id, scope.subject_id) == 0


async def test_ensure_and_drop_can_be_repeated(milvus: Milvus) -> None:
    """A second `ensure` keeps the rows; after `drop`, which may come twice, an `ensure` starts empty."""
    vectors, row = Vectors(milvus, "again"), _row(_scope())
    await vectors.ensure()
    await vectors.upsert([row])
    await vectors.ensure()
    assert len(await vectors.search(row.scope, row.vector, 1)) == 1
    await vectors.drop()
    await vectors.drop()
    await vectors.ensure()
    assert await vectors.search(row.scope, row.vector, 1) == []
    await vectors.drop()


@pytest.mark.parametrize(
    "vector", [np.zeros(DIMENSION, np.float32), np.ones(3, np.float32), np.ones(DIMENSION) / 384**0.5]
)
async def test_refuses_other_vectors(vectors: Vectors, vector: NDArray[np.float32]) -> None:
    """A vector of another size, type or length would be compared wrongly."""
    scope = _scope()
    with pytest.raises(ValueError, match="float32"):
        await vectors.search(scope, vector, 1)
    with pytest.raises(ValueError, match="float32"):
        await vectors.upsert([Row(scope, MemoryId(uuid4()), 1, Position(1), vector)])


async def test_survives_a_killed_server(host: Host, vectors: Vectors, probe: VectorProbe) -> None:
    """While the server is down every call says so quickly; after its restart the acknowledged rows are there."""
    scope = _scope()
    rows = [_row(scope) for _ in range(40)]
    await vectors.upsert(rows[:20])
    await vectors.flush()
    await vectors.upsert(rows[20:])
    assert len(await probe.by_ids([rows[0].memory_id])) == 1
    host.stop(signal.SIGKILL)
    started = time.monotonic()
    for refused in (vectors.search(scope, _vector(), 1), vectors.upsert(rows), probe.by_ids([rows[0].memory_id])):
        with pytest.raises(UnavailableError, match="code"):
            await refused
    assert time.monotonic() - started < 10
    host.start()
    async with asyncio.timeout(90):
        while True:
            try:
                hits = await vectors.search(scope, rows[33].vector, 50)
                break
            except UnavailableError:
                await asyncio.sleep(0.1)  # gRPC tries again in its own time
        assert len(hits) == 40
        assert hits[0].memory_id == rows[33].memory_id
        while True:
            try:
                assert len(await probe.by_ids([rows[0].memory_id])) == 1
                break
            except UnavailableError:
                await asyncio.sleep(0.1)


async def test_a_hanging_server_is_given_up(host: Host) -> None:
    """A server that holds its connection and answers nothing ends as unavailable, for readers within their time."""
    milvus = Milvus(host.uri, answer_s=0.5)
    vectors, row = Vectors(milvus, "hanging"), _row(_scope())
    probe = VectorProbe(host.uri, "hanging")
    try:
        await vectors.ensure()
        await vectors.upsert([row])
        assert len(await probe.by_ids([row.memory_id])) == 1
        with host.hanging():
            for _ in range(2 * READERS):
                with pytest.raises(UnavailableError, match="does not answer"):
                    await vectors.search(row.scope, row.vector, 1)
            with pytest.raises(UnavailableError, match="DEADLINE_EXCEEDED"):
                await milvus.write(lambda: milvus.call("hanging", lambda client: client.list_collections(timeout=0.5)))
            with pytest.raises(UnavailableError, match="DEADLINE_EXCEEDED"):
                await probe._ask(lambda client: client.list_collections(timeout=0.5))
        assert len(await vectors.search(row.scope, row.vector, 1)) == 1
        await vectors.drop()
    finally:
        await milvus.close()
        await probe.close()


@pytest.mark.parametrize("uri", ["unix:/nowhere/m.sock", "./file.db", "http://milvus:19530"])
def test_an_address_in_the_environment_does_not_reach_pymilvus(uri: str, tmp_path: Path) -> None:
    """The index can be imported whatever MILVUS_URI says, and the environment is left as it was."""
    code = "import os; before = dict(os.environ); import projections.vectors; assert dict(os.environ) == before"
    environment = os.environ | {"MILVUS_URI": uri, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


NIL = UUID(int=0)
SOMEONE = UUID(int=7, version=4)
ATTACKS: list[object] = ["", None, NIL, 0, b"", "' or 1 == 1", str(SOMEONE), SOMEONE.hex, [], {}, "*", "％", ("a",)]


@pytest.mark.parametrize("bad", ATTACKS)
def test_the_filter_takes_uuids_only(bad: object) -> None:
    """Whatever is no UUID is refused in every place of the filter."""
    good = uuid4()
    attacks: list[Any] = [(bad, good), (good, bad)]
    for ids in attacks:
        with pytest.raises(ScopeError):
            scope_filter(*ids)
    with pytest.raises(ScopeError):
        scope_filter(TenantId(good), SubjectId(good), [bad])  # type: ignore[list-item]  # the attack is the wrong type
    with pytest.raises(ScopeError):
        scope_filter(TenantId(good), SubjectId(good), [])


@given(
    st.uuids(allow_nil=False), st.uuids(allow_nil=False), st.none() | st.lists(st.uuids(allow_nil=False), min_size=1)
)
def test_the_filter_always_names_both(tenant: UUID, subject: UUID, memories: list[UUID] | None) -> None:
    """A filter is never empty, always names tenant and subject, and holds nothing but hex digits between its quotes."""
    ids = None if memories is None else [MemoryId(memory) for memory in memories]
    text = scope_filter(TenantId(tenant), SubjectId(subject), ids)
    assert text.startswith(f'tenant_id == "{tenant.hex}" and subject_id == "{subject.hex}"')
    assert " or " not in text
    assert all(len(value) == 32 and set(value) <= set("0123456789abcdef") for value in text.split('"')[1::2])


@given(st.uuids(), st.uuids())
def test_a_partition_has_one_of_256_names(tenant: UUID, subject: UUID) -> None:
    """The partition depends on tenant and subject alone."""
    scope = Scope(tenant_id=TenantId(tenant), subject_id=SubjectId(subject))
    assert partition_of(scope) == partition_of(scope.model_copy())
    assert partition_of(scope) in {f"p{number:03d}" for number in range(256)}


async def test_a_partition_that_is_written_anew_keeps_what_lives_and_no_byte_of_the_rest(
    host: Host, milvus: Milvus, vectors: Vectors, probe: VectorProbe
) -> None:
    """Twice over, searched from another process meanwhile: every living row, no file with the deleted id or vector."""
    scope = _scope()
    other = _neighbour(scope)
    rows, theirs = [_row(scope) for _ in range(700)], [_row(other) for _ in range(30)]
    await vectors.upsert([*rows, *theirs])
    await vectors.flush()
    reader = Vectors(milvus, vectors._collection)  # which knows of no rewriting
    assert len(await reader.search(other, theirs[0].vector, 50)) == len(theirs)
    living, partition = rows, partition_of(scope)
    for turn in range(2):
        gone, living = living[:20], living[20:]
        await vectors.delete(scope, [row.memory_id for row in gone])
        needles = [row.memory_id.hex.encode() for row in gone] + [row.memory_id.hex.upper().encode() for row in gone]
        assert _files_with(host.folder / "data", needles), "a delete leaves the id in a file"
        late, fresh = living[turn + 1], _row(scope)
        news = Row(scope, late.memory_id, 2, Position(next(POSITIONS)), _vector())
        moved, *_ = await asyncio.gather(
            vectors.rewrite(partition),
            vectors.upsert([news, fresh]),
            vectors.delete(scope, [living[turn].memory_id]),
        )
        assert moved >= len(living) + len(theirs) - 2
        living = [*(row for row in living if row not in {living[turn], late}), news, fresh]
        assert not _files_with(host.folder / "data", needles)
        assert await probe.count(scope.tenant_id, scope.subject_id) == len(living)
        assert await probe.count(other.tenant_id, other.subject_id) == len(theirs)
        assert len(await probe.by_ids([row.memory_id for row in living])) == len(living)
        for asked in (vectors, reader):
            assert set(_ids(await asked.search(other, theirs[0].vector, 50))) == {row.memory_id for row in theirs}
            (hit,) = await asked.search(scope, news.vector, 1)
            assert (hit.memory_id, hit.version) == (news.memory_id, 2)
        assert [found.memory_id for found in await probe.by_vector(news.vector, 1, [partition])] == [news.memory_id]
        assert await vectors.upsert([late]) == 0, "what is older than what the sibling holds is not written"
    assert await vectors.rewrite(partition_of(_elsewhere({partition}))) == 0


async def test_a_rewriting_that_died_is_begun_again_and_an_old_partition_serves_until_the_switch(
    milvus: Milvus, vectors: Vectors, probe: VectorProbe
) -> None:
    """What a dead writer left half written is not searched, is found by the probe, and goes with the next rewriting."""
    scope = _scope()
    rows = [_row(scope) for _ in range(5)]
    await vectors.upsert(rows)
    partition = partition_of(scope)
    dead = Vectors(milvus, vectors._collection)
    begun = await milvus.write(lambda: dead._begin(partition))
    assert begun is not None
    await milvus.write(lambda: dead._move(partition, next(begun)))
    assert len(await probe.by_ids([rows[0].memory_id])) == 2
    assert len(await vectors.search(scope, rows[0].vector, 10)) == 5
    await vectors.delete(scope, [rows[0].memory_id])
    assert await probe.by_ids([rows[0].memory_id]) == []
    assert await vectors.rewrite(partition) == 4
    assert len(await probe.by_ids([row.memory_id for row in rows])) == 4
    assert len(await Vectors(milvus, vectors._collection).search(scope, rows[1].vector, 10)) == 4


def _elsewhere(partitions: set[str]) -> Scope:
    """Find a person of no such partition."""
    return next(other for other in iter(_scope, None) if partition_of(other) not in partitions)


def _files_with(folder: Path, needles: list[bytes]) -> list[Path]:
    """Find files that hold one of these, as they are: ids lie uncompressed in the columns of the index."""
    return [
        path for path in folder.rglob("*") if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    ]
