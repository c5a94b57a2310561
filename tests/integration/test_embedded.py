import asyncio
import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
import redis
from pymilvus import DataType, MilvusClient
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from ops.embedded import (
    MILVUS,
    POSTGRES_LOG,
    POSTGRES_VAULT,
    SERVERS,
    VALKEY,
    Embedded,
    EmbeddedError,
    Endpoints,
    child,
    privilege,
)
from ops.embedded.child import Child, Program
from ops.embedded.privilege import Identity
from ops.settings import load_settings

ROOT = Path(__file__).parents[2]
NEEDLE = "mag keinen Koriander 不吃香菜"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these tests read /proc")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


class Running:
    """A started supervisor with all four servers."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.embedded = Embedded(load_settings(data=data))
        self.endpoints: Endpoints = self.embedded.start()

    def postgres_log(self) -> str:
        """Return what the log cluster's server wrote."""
        return (self.data / "logs" / f"{POSTGRES_LOG}.log").read_text(encoding="utf-8")

    def kill(self, name: str) -> None:
        """End a server as a crash would, and wait until it is gone."""
        pid = self.embedded.processes()[name]
        gone = gone_events([pid])
        os.kill(pid, signal.SIGKILL)
        wait_all(gone)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run all four servers for the tests of this file; each test leaves them serving."""
    it = Running(tmp_path_factory.mktemp("d"))
    yield it
    it.embedded.stop()


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a folder that every user can reach, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="cenotaph-test-"))
    yield folder
    shutil.rmtree(folder)


def gone_events(pids: list[int]) -> list[int]:
    """Return descriptors that become readable when the processes end."""
    return [os.pidfd_open(pid) for pid in pids]


def wait_all(events: list[int], timeout: float = 20) -> None:
    """Wait until all of them ended."""
    for event in events:
        assert select.select([event], [], [], timeout)[0], "a process is still running"
        os.close(event)


def processes_on(data: Path) -> list[int]:
    """List the living processes that hold a file below the folder open or work in it (backends too)."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            links = [str(link.readlink()) for link in (entry / "cwd", *(entry / "fd").iterdir())]
        except OSError:
            continue
        if any(link.startswith(f"{data}/") for link in links):
            found.append(int(entry.name))
    return found


def owner_and_mode(path: Path | str) -> tuple[int, int]:
    """Return whose it is and who may use it."""
    found = Path(path).stat()
    return found.st_uid, stat.S_IMODE(found.st_mode)


def listens_on_tcp(pids: list[int]) -> bool:
    """Say whether one of the processes has a listening TCP socket."""
    listening = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        rows = [line.split() for line in Path(table).read_text(encoding="ascii").splitlines()[1:]]
        listening |= {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
    links = {str(fd.readlink()) for pid in pids for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()}
    return bool(listening & links)


def supervisor(body: str, **environment: str) -> "subprocess.Popen[str]":
    """Start another Python process that runs the lines with our packages on its path."""
    code = "from pathlib import Path\nfrom ops.embedded import *\nfrom ops.settings import load_settings\n"
    return subprocess.Popen(
        [sys.executable, "-c", code + textwrap.dedent(body)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        cwd="/",
        text=True,
    )


async def recovered(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    """Connect once crash recovery is over."""
    while True:
        try:
            return await asyncpg.connect(url)
        except (asyncpg.CannotConnectNowError, asyncpg.ConnectionDoesNotExistError, ConnectionError):
            await asyncio.sleep(0.01)


def first_line(process: "subprocess.Popen[str]") -> str:
    """Read what it says first."""
    assert process.stdout is not None
    return process.stdout.readline()


# ── serving ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_both_clusters_answer_asyncpg_and_sqlalchemy(running: Running) -> None:
    """One URL form serves both clients, and each cluster has its own database in UTF-8."""
    for url, name in ((running.endpoints.database_url, "cenotaph"), (running.endpoints.vault_url, "vault")):
        connection = await asyncpg.connect(url)
        assert await connection.fetchval("SELECT current_database()") == name
        assert await connection.fetchval("SELECT lower('ÄÉ') || '香菜'") == "äé香菜"
        assert await connection.fetchval("SHOW server_encoding") == "UTF8"
        await connection.close()
        engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://"))
        async with engine.connect() as session:
            assert (await session.execute(text("SELECT current_database()"))).scalar_one() == name
        await engine.dispose()


async def test_the_clusters_are_separate_servers(running: Running) -> None:
    """The vault is a cluster of its own, so that a backup of the log holds no key."""
    identifiers = set()
    for url in (running.endpoints.database_url, running.endpoints.vault_url):
        connection = await asyncpg.connect(url)
        identifiers.add(await connection.fetchval("SELECT system_identifier FROM pg_control_system()"))
        await connection.close()
    assert len(identifiers) == 2


async def test_postgres_is_durable(running: Running) -> None:
    """What was acknowledged survives a power cut."""
    for url in (running.endpoints.database_url, running.endpoints.vault_url):
        connection = await asyncpg.connect(url)
        for setting in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum"):
            assert await connection.fetchval(f"SHOW {setting}") == "on"
        await connection.close()


def test_valkey_keeps_an_append_only_file(running: Running) -> None:
    """What is acknowledged is on disk, and a full memory refuses instead of evicting."""
    with redis.Redis.from_url(running.endpoints.redis_url) as client:
        config = client.config_get("*")
    assert config["appendonly"] == "yes"
    assert config["appendfsync"] == "always"
    assert config["save"] == ""
    assert config["maxmemory-policy"] == "noeviction"


def test_nothing_listens_on_tcp(running: Running) -> None:
    """No server can be reached from the network; the control proves that a listener would be seen."""
    assert not listens_on_tcp(processes_on(running.data))
    with socket.create_server(("127.0.0.1", 0)):
        assert listens_on_tcp([os.getpid()])


async def test_postgres_refuses_tcp(running: Running) -> None:
    """Neither cluster has an address."""
    for url in (running.endpoints.database_url, running.endpoints.vault_url):
        connection = await asyncpg.connect(url)
        assert await connection.fetchval("SHOW listen_addresses") == ""
        await connection.close()


def test_every_file_is_closed_to_other_users(running: Running) -> None:
    """Folders are 0700 and files 0600, sockets included."""
    paths = list(running.data.rglob("*"))
    assert any(stat.S_ISSOCK(path.lstat().st_mode) for path in paths)
    assert [path for path in paths if path.lstat().st_mode & 0o077] == []
    assert stat.S_IMODE((running.data / "run").stat().st_mode) == 0o700


def test_children_are_ours_and_out_of_the_terminals_reach(running: Running) -> None:
    """Each server is a direct child in a process group of its own, so Ctrl-C reaches the supervisor only."""
    processes = running.embedded.processes()
    assert set(processes) == SERVERS
    for pid in processes.values():
        assert f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        assert os.getpgid(pid) == pid


async def test_no_failing_statement_reaches_the_server_log(running: Running) -> None:
    """Violated rows, unreadable values and unknown names leave no word of a person in a log file."""
    connection = await asyncpg.connect(running.endpoints.database_url)
    await connection.execute("CREATE TEMPORARY TABLE noted (word text PRIMARY KEY)")
    await connection.execute("INSERT INTO noted VALUES ($1)", NEEDLE)
    for error, statement, *values in (
        (asyncpg.UniqueViolationError, "INSERT INTO noted VALUES ($1)", NEEDLE),
        (asyncpg.InvalidTextRepresentationError, "SELECT $1::text::uuid", NEEDLE),
        (asyncpg.InvalidTextRepresentationError, f"SELECT '{NEEDLE}'::uuid"),
        (asyncpg.UndefinedTableError, f'TABLE "{NEEDLE}"'),
        (asyncpg.RaiseError, f"DO $$ BEGIN RAISE WARNING '{NEEDLE}'; RAISE EXCEPTION '{NEEDLE}'; END $$"),
    ):
        with pytest.raises(error):
            await connection.execute(statement, *values)
    await connection.close()
    assert "香菜" not in running.postgres_log()
    assert "Koriander" not in running.postgres_log()


async def test_a_crashed_backend_leaves_no_statement_in_the_log(running: Running) -> None:
    """The server notes that a backend was killed, but not what it was doing."""
    holder, stuck = [await asyncpg.connect(running.endpoints.database_url) for _ in range(2)]
    await holder.execute("SELECT pg_advisory_lock(1)")
    backend = stuck.get_server_pid()
    query = asyncio.ensure_future(stuck.execute(f"SELECT pg_advisory_lock(1), '{NEEDLE}'"))
    waits = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'"
    while not await holder.fetchval(waits, backend):  # noqa: ASYNC110 - the event is inside the server
        await asyncio.sleep(0)
    os.kill(backend, signal.SIGKILL)
    with pytest.raises((asyncpg.PostgresError, OSError)):
        await query
    holder.terminate()
    stuck.terminate()
    await (await recovered(running.endpoints.database_url)).close()
    assert f"(PID {backend}) was terminated by signal 9" in running.postgres_log()
    assert "香菜" not in running.postgres_log()


# ── one at a time ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_second_start_in_this_process_is_refused(running: Running) -> None:
    """Two supervisors never share a directory; the message names the first and what to do."""
    with pytest.raises(
        EmbeddedError, match=rf"\(pid {os.getpid()}\) already runs on .*kill {os.getpid()}.*CENOTAPH_DATA"
    ):
        Embedded(load_settings(data=running.data)).start()
    assert running.embedded.dead() == []


def test_a_second_start_in_another_process_is_refused(running: Running) -> None:
    """The refusal holds across processes and leaves the first one's servers alone."""
    body = """
    try:
        Embedded(load_settings()).start()
    except EmbeddedError as error:
        print(error)
    """
    output, _ = supervisor(body, CENOTAPH_DATA=str(running.data)).communicate(timeout=90)
    assert f"another cenotaph (pid {os.getpid()}) already runs" in output
    assert running.embedded.dead() == []


# ── death and revival ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("name", "which"), [(POSTGRES_LOG, "database_url"), (POSTGRES_VAULT, "vault_url")])
async def test_a_killed_postgres_comes_back_with_what_was_committed(running: Running, name: str, which: str) -> None:
    """A kill -9 of the postmaster loses no committed row."""
    url = getattr(running.endpoints, which)
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE kept (n int)")
    await connection.execute("INSERT INTO kept SELECT generate_series(1, 1000)")
    running.kill(name)
    connection.terminate()
    assert running.embedded.dead() == [name]
    running.embedded.revive(name)
    assert running.embedded.dead() == []
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("SELECT count(*) FROM kept") == 1000
    await connection.execute("DROP TABLE kept")
    await connection.close()


def test_a_killed_valkey_comes_back_with_its_stream_and_what_is_pending(running: Running) -> None:
    """A kill -9 keeps entries and who has read them, so they can be claimed again."""
    with redis.Redis.from_url(running.endpoints.redis_url) as client:
        client.xgroup_create("jobs", "g", "0", mkstream=True)
        for number in range(100):
            client.xadd("jobs", {"position": number})
        client.xreadgroup("g", "a", {"jobs": ">"}, count=7)
    running.kill(VALKEY)
    assert running.embedded.dead() == [VALKEY]
    running.embedded.revive(VALKEY)
    with redis.Redis.from_url(running.endpoints.redis_url) as client:
        assert client.xlen("jobs") == 100
        assert client.xpending("jobs", "g")["pending"] == 7
        client.delete("jobs")


def test_a_killed_milvus_comes_back_with_its_rows(running: Running) -> None:
    """A kill -9 keeps what was acknowledged, flushed or not."""
    client = MilvusClient(running.endpoints.milvus_uri)
    schema = client.create_schema()
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=36)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=4)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="COSINE")
    client.create_collection("kept", schema=schema, index_params=index)
    client.insert("kept", [{"id": f"{number:x}", "vector": [1.0, number, 0.0, 0.0]} for number in range(50)])
    client.close()
    running.kill(MILVUS)
    assert running.embedded.dead() == [MILVUS]
    running.embedded.revive(MILVUS)
    client = MilvusClient(running.endpoints.milvus_uri)
    client.load_collection("kept")
    assert client.query("kept", filter="", output_fields=["count(*)"])[0]["count(*)"] == 50
    assert client.search("kept", [[1.0, 0.0, 0.0, 0.0]], limit=1)[0][0]["id"] == "0"
    client.drop_collection("kept")
    client.close()


def test_reviving_the_living_changes_nothing(running: Running) -> None:
    """A supervisor that asks too early does no harm; one that asks for an unknown server is told."""
    before = running.embedded.processes()
    running.embedded.revive(VALKEY)
    assert running.embedded.processes() == before
    with pytest.raises(EmbeddedError, match="memcached is not an embedded server"):
        running.embedded.revive("memcached")


async def test_a_killed_supervisor_takes_its_servers_down_and_the_next_one_recovers(tmp_path: Path) -> None:
    """A kill -9 of the supervisor leaves no process, no lock and no lost commit, even when it is restarted at once."""
    body = """
    import json
    embedded = Embedded(load_settings())
    print(embedded.start().database_url, json.dumps(embedded.processes()), sep="\\n", flush=True)
    input()
    """
    process = supervisor(body, CENOTAPH_DATA=str(tmp_path))
    url = first_line(process).strip()
    children = gone_events(list(json.loads(first_line(process)).values()))
    assert len(children) == 4
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE kept AS SELECT 42 AS n")
    process.kill()
    process.communicate()
    connection.terminate()
    with Embedded(load_settings(data=tmp_path)) as embedded:
        wait_all(children, timeout=0)
        connection = await asyncpg.connect(embedded.endpoints.database_url)
        assert await connection.fetchval("SELECT n FROM kept") == 42
        await connection.close()
    assert processes_on(tmp_path) == []


def test_a_vector_server_that_hangs_does_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    """Its files are free for the next supervisor even if it can no longer hear a polite signal."""
    body = """
    embedded = Embedded(load_settings(), frozenset({MILVUS}))
    embedded.start()
    print(embedded.processes()[MILVUS], flush=True)
    input()
    """
    process = supervisor(body, CENOTAPH_DATA=str(tmp_path))
    pid = int(first_line(process))
    hanging = gone_events([pid])
    os.kill(pid, signal.SIGSTOP)
    process.kill()
    process.communicate()
    with Embedded(load_settings(data=tmp_path), frozenset({MILVUS})) as embedded:
        wait_all(hanging, timeout=0)
        assert embedded.dead() == []


def test_a_killed_supervisor_takes_its_servers_down_without_the_kernels_help(tmp_path: Path) -> None:
    """Where there is no parent-death signal (macOS), a watcher on a pipe does the same."""
    body = """
    import sys
    from ops.embedded.child import Child, Program
    program = Program("sleep", ("/bin/sleep", "100"), Path(sys.argv[-1]), follow_by_pipe=True)
    print(Child(program).pid, flush=True)
    input()
    """
    log = tmp_path / "log"
    process = supervisor(body.replace("sys.argv[-1]", repr(str(log))))
    children = gone_events([int(first_line(process))])
    assert not select.select(children, [], [], 0)[0]
    process.kill()
    process.communicate()
    wait_all(children)


# ── start and stop ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_stop_leaves_nothing_running_and_may_be_repeated(tmp_path: Path) -> None:
    """After stop there is no process on the directory, and the next start is free to use it."""
    embedded = Embedded(load_settings(data=tmp_path), frozenset({POSTGRES_VAULT, VALKEY}))
    endpoints = embedded.start()
    assert endpoints.vault_url
    assert endpoints.database_url == endpoints.milvus_uri == ""
    assert len(processes_on(tmp_path)) > 2  # the control: backends and both servers are seen
    embedded.stop()
    embedded.stop()
    assert processes_on(tmp_path) == []
    assert (embedded.processes(), embedded.dead()) == ({}, [])
    assert embedded.start() == endpoints
    embedded.stop()


def test_given_addresses_start_no_server_and_touch_no_folder(tmp_path: Path) -> None:
    """With all four addresses set, nothing is embedded."""
    settings = load_settings(
        data=tmp_path / "unused",
        database_url="postgresql://h/log",
        vault_url="postgresql://h/vault",
        redis_url="redis://h",
        milvus_uri="http://h:19530",
    )
    with Embedded(settings) as embedded:
        assert embedded.processes() == {}
        assert embedded.endpoints == Endpoints(
            "postgresql://h/log", "postgresql://h/vault", "redis://h", "http://h:19530"
        )
    assert not settings.data.exists()


def test_a_given_address_replaces_only_that_server(tmp_path: Path) -> None:
    """Mixing given and embedded servers is allowed."""
    settings = load_settings(data=tmp_path, database_url="postgresql://u:hunter2@h/log")
    with Embedded(settings, frozenset({POSTGRES_LOG, VALKEY})) as embedded:
        assert set(embedded.processes()) == {VALKEY}
        assert embedded.endpoints.database_url == "postgresql://u:hunter2@h/log"
        assert "hunter2" not in repr(embedded.endpoints)


def test_an_unknown_server_is_refused(tmp_path: Path) -> None:
    """A misspelt name does not silently start nothing."""
    with pytest.raises(EmbeddedError, match="no such embedded server: memcached"):
        Embedded(load_settings(data=tmp_path), frozenset({"memcached"}))


def test_a_server_that_cannot_start_is_named_and_nothing_stays(tmp_path: Path) -> None:
    """A start is all or nothing; the message carries the server's last word and the way to its log."""
    manifest = tmp_path / "valkey" / "appendonlydir" / "appendonly.aof.manifest"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("nonsense\n", encoding="utf-8")
    embedded = Embedded(load_settings(data=tmp_path), frozenset({VALKEY, POSTGRES_VAULT}))
    with pytest.raises(EmbeddedError, match=r"valkey ended with code 1: .*valkey\.log"):
        embedded.start()
    assert processes_on(tmp_path) == []
    shutil.rmtree(manifest.parent)
    with embedded:
        assert embedded.dead() == []


def test_a_half_made_cluster_is_made_again(tmp_path: Path) -> None:
    """A setup that was killed leaves only a folder that the next start throws away."""
    (tmp_path / "vault.new" / "base").mkdir(parents=True)
    with Embedded(load_settings(data=tmp_path), frozenset({POSTGRES_VAULT})):
        assert not (tmp_path / "vault.new").exists()


def test_a_foreign_folder_in_the_place_of_a_cluster_is_left_alone(tmp_path: Path) -> None:
    """Files that are no cluster are never overwritten."""
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "letter").write_text("dear", encoding="utf-8")
    with pytest.raises(EmbeddedError, match="holds no PostgreSQL cluster; restore it"):
        Embedded(load_settings(data=tmp_path), frozenset({POSTGRES_VAULT})).start()
    assert (tmp_path / "vault" / "letter").exists()


def test_a_stale_pid_file_with_a_reused_pid_does_not_stop_postgres(tmp_path: Path) -> None:
    """After a power cut the noted process id may belong to somebody else; the lock, not the id, decides."""
    embedded = Embedded(load_settings(data=tmp_path), frozenset({POSTGRES_VAULT}))
    embedded.start()
    note = (tmp_path / "vault" / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    embedded.stop()
    stale = "\n".join([str(os.getpid()), *note[1:]]) + "\n"
    (tmp_path / "vault" / "postmaster.pid").write_text(stale, encoding="utf-8")
    with embedded:
        assert embedded.dead() == []


def test_a_server_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hanging server delays the end, but does not prevent it."""
    monkeypatch.setattr(child, "KILL_AFTER_S", 0.2)
    embedded = Embedded(load_settings(data=tmp_path), frozenset({VALKEY}))
    embedded.start()
    os.kill(embedded.processes()[VALKEY], signal.SIGSTOP)
    embedded.stop()
    assert processes_on(tmp_path) == []


def test_a_child_is_not_started_from_another_thread(tmp_path: Path) -> None:
    """The kernel would end it together with that thread."""
    caught: list[Exception] = []

    def start() -> None:
        try:
            Child(Program("sleep", ("/bin/sleep", "100"), tmp_path / "log"))
        except EmbeddedError as error:
            caught.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "from the main thread" in str(caught[0])


# ── places and users ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["long-" * 20, "记忆 and a space"])
def test_a_path_that_no_socket_can_have_moves_the_sockets_to_a_private_folder(tmp_path: Path, name: str) -> None:
    """Sockets then live in a 0700 folder that is remembered after a crash and removed at the end."""
    data = tmp_path / name
    embedded = Embedded(load_settings(data=data), frozenset({VALKEY}))
    with redis.Redis.from_url(embedded.start().redis_url) as client:
        assert client.ping()
    run = Path((data / "run.path").read_text(encoding="utf-8"))
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    assert not run.is_relative_to(data)
    embedded.stop()
    assert not run.exists()
    run.mkdir(mode=0o700)
    (data / "run.path").write_text(str(run), encoding="utf-8")
    with embedded:
        assert str(run) in embedded.endpoints.redis_url


def test_a_directory_that_everybody_may_write_to_is_refused(tmp_path: Path) -> None:
    """Anybody could put other files in place of ours."""
    tmp_path.chmod(0o777)
    with pytest.raises(EmbeddedError, match="chmod o-w"):
        Embedded(load_settings(data=tmp_path)).start()


def test_the_vector_server_runs_from_a_bundle(tmp_path: Path) -> None:
    """In a wheel our packages lie in a folder that only the command has on its path; the child finds them there."""
    bundle = tmp_path / "_app"
    for package in ("events", "ops", "services"):
        shutil.copytree(ROOT / package, bundle / package, ignore=shutil.ignore_patterns("__pycache__"))
    body = """
    with Embedded(load_settings(), frozenset({MILVUS})) as embedded:
        print(open(f"/proc/{embedded.processes()[MILVUS]}/environ").read().replace(chr(0), " "))
    """
    process = supervisor(body, PYTHONPATH=str(bundle), CENOTAPH_DATA=str(tmp_path / "d"))
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert f"PYTHONPATH={bundle}" in output
    assert str(ROOT) not in output.split("PYTHONPATH=", 1)[1].split()[0]


@as_root
async def test_without_user_namespaces_root_falls_back_to_an_account(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL then runs as an unprivileged user, who may pass through the data directory but not list it."""
    accounts = [it for it in privilege._candidates(0) if it.kind == "account"]
    monkeypatch.setattr(privilege, "_candidates", lambda _: accounts)
    for _ in ("first", "again"):
        with Embedded(load_settings(data=place), frozenset({POSTGRES_VAULT})) as embedded:
            assert owner_and_mode(f"/proc/{embedded.processes()[POSTGRES_VAULT]}")[0] == accounts[0].uid != 0
            connection = await asyncpg.connect(embedded.endpoints.vault_url)
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close()
            assert owner_and_mode(place) == (0, 0o711)
            assert owner_and_mode(place / "run") == (0, 0o711)
            assert owner_and_mode(place / "vault") == (accounts[0].uid, 0o700)
            assert owner_and_mode(place / "run" / "vault") == (accounts[0].uid, 0o700)
            assert owner_and_mode(place / "logs") == (0, 0o700)


def test_when_no_user_works_the_message_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that allows nothing gets advice, not a stack trace of a child."""
    unusable = Identity("account", -1, 2**31)  # no user has the id -1
    monkeypatch.setattr(privilege, "_candidates", lambda _: [unusable])
    with pytest.raises(EmbeddedError, match=r"Run cenotaph as an ordinary user.*DATABASE_URL and VAULT_URL"):
        Embedded(load_settings(data=tmp_path)).start()


@as_root
@pytest.mark.parametrize("uid", [65534, 54321])
def test_an_ordinary_user_can_run_it_even_without_a_name(place: Path, uid: int) -> None:
    """A container may run us under an id that no account has."""
    try:
        subprocess.run([sys.executable, "-c", ""], user=uid, check=True)
    except PermissionError:
        pytest.skip("this interpreter lies in a folder that is closed to other users")
    os.chown(place, uid, uid)
    code = (
        "import asyncio, asyncpg, os\n"
        "from ops.embedded import *\nfrom ops.settings import load_settings\n"
        "async def ask(url):\n"
        "    connection = await asyncpg.connect(url)\n"
        "    print(os.getuid(), await connection.fetchval('SELECT current_database()'))\n"
        "    await connection.close()\n"
        "with Embedded(load_settings(), frozenset({POSTGRES_VAULT})) as embedded:\n"
        "    asyncio.run(ask(embedded.endpoints.vault_url))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT), "CENOTAPH_DATA": str(place), "HOME": str(place)},
        cwd="/",
        user=uid,
        group=uid,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.split() == [str(uid), "vault"], done.stderr


def test_a_missing_wheel_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The base install has no server; the message names the extra and the variable that replaces it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for name, variable in ((POSTGRES_LOG, "DATABASE_URL"), (VALKEY, "REDIS_URL"), (MILVUS, "MILVUS_URI")):
        with pytest.raises(EmbeddedError, match=rf"cenotaph\[server\].*{variable}"):
            Embedded(load_settings(data=tmp_path), frozenset({name})).start()
