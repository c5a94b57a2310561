"""The same modules as separate processes on one set of stores, and what happens when one of them is killed."""

import asyncio
import re
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from cenotaph.calls import Message, Turn
from cenotaph.client import Cenotaph
from ops.embedded import Embedded
from ops.logins import logins_of, role_name
from ops.settings import load_settings
from tests.e2e.command import Process, environment, ok, run, started

TURNS = 30
START = datetime(2026, 8, 1, 9, tzinfo=UTC)
KEPT = ("我喜欢喝{}号茶。", "I love tea number {}.", "今天天气不错，{}。", "What is {} times two?")


@dataclass(frozen=True)
class Processes:
    """An API, one worker process for the chores and two that remember."""

    database_url: str
    door: Cenotaph
    key: str
    remembering: tuple[Process, Process]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mapping[str, str], str]]:
    """Run the stores, which ask for passwords, and migrate them; give the owner's environment and the log's address."""
    data = tmp_path_factory.mktemp("stores")
    with Embedded(load_settings(data=data)) as embedded:
        found = embedded.endpoints
        env = environment(
            tmp_path_factory.mktemp("elsewhere"),
            DATABASE_URL=found.database_url,
            VAULT_URL=found.vault_url,
            REDIS_URL=found.redis_url,
            MILVUS_URI=found.milvus_uri,
            CENOTAPH_KEYS=str(data / "keys"),
            CENOTAPH_RECLAIM_IDLE_MS="2000",
            CENOTAPH_SWEEP_AFTER_S="30",  # so that the reclaiming, not the sweeper, is what is seen here
            CENOTAPH_LOGINS=str(tmp_path_factory.mktemp("logins")),
        )
        unmigrated = run(env, "worker", "seal")
        assert (unmigrated.returncode, "run `cenotaph migrate`" in unmigrated.stderr) == (1, True), unmigrated.stderr
        assert "migrated" in ok(env, "migrate")
        for url in (found.database_url, found.vault_url):
            asyncio.run(ask_for_passwords(url))
        yield env, found.database_url


async def ask_for_passwords(url: str) -> None:
    """Let everybody but the owner log in with a password only."""
    connection = await asyncpg.connect(url)
    rules = await connection.fetchval("show hba_file")
    text = "local all cenotaph trust\nlocal all all scram-sha-256\n"
    await asyncio.to_thread(Path(rules).write_text, text, encoding="ascii")
    await connection.execute("select pg_reload_conf()")
    await connection.close()


def part(env: Mapping[str, str], folder: Path, *names: str) -> dict[str, str]:
    """Give a part the passwords of its roles and no other; the user its URLs name does not exist."""
    held = logins_of(names)
    own = [*(role_name("log", role) for role in held.log), *(role_name("vault", role) for role in held.vault)]
    folder.mkdir()
    for role in own:
        shutil.copy(Path(env["CENOTAPH_LOGINS"]) / role, folder)
    urls = {name: env[name].replace("//cenotaph@", "//nobody@") for name in ("DATABASE_URL", "VAULT_URL")}
    assert all("//nobody@" in url for url in urls.values())
    return {**env, **urls, "CENOTAPH_LOGINS": str(folder)}


@pytest.fixture(scope="module")
def processes(stores: tuple[Mapping[str, str], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """Run the processes on the stores, each with its own logins."""
    env, database_url = stores
    folder = tmp_path_factory.mktemp("parts")
    with ExitStack() as stack:
        api = stack.enter_context(started(part(env, folder / "api", "api"), "api", "--port", "0"))
        url = re.search(r"http://\S+", api.until("listens on"))
        assert url is not None
        parts = [
            stack.enter_context(started(part(env, folder / f"{number}", *names), "worker", *names))
            for number, names in enumerate((("seal", "project", "ingest", "erase"), ("remember",), ("remember",)))
        ]
        for each in parts:
            each.until("cenotaph runs")
        key = ok(env, "tenant", "create").strip()
        door = stack.enter_context(Cenotaph(url[0], timeout_s=30))
        yield Processes(database_url, door, key, (parts[1], parts[2]))


def turn(name: str, number: int) -> Turn:
    said = Message(message_id="m1", role="user", content=KEPT[number % len(KEPT)].format(number))
    return Turn(f"{name}-{number}", "s", START + timedelta(minutes=number), [said])


def considered(person: Cenotaph, name: str, numbers: range, timeout: float = 60) -> None:
    """Wait until these turns were considered."""
    deadline = time.monotonic() + timeout
    for number in numbers:
        while person.outcome(f"{name}-{number}").state != "considered":
            assert time.monotonic() < deadline, f"{name}-{number} was not considered"
            time.sleep(0.05)


async def count(url: str, kind: str) -> tuple[int, int]:
    """Count the events of a type, and the turns they are about."""
    connection = await asyncpg.connect(url)
    try:
        row = await connection.fetchrow(
            """select count(*), count(distinct convert_from(substring(envelope from 1 for octet_length(envelope) - 16),
                 'UTF8')::jsonb -> 'data' ->> 'turn_id') from log.event where type = $1""",
            kind,
        )
        return row[0], row[1]
    finally:
        await connection.close()


def test_a_store_that_is_not_named_is_missed(tmp_path: Path) -> None:
    """Separate processes start no servers of their own: they say which address they lack."""
    env = environment(tmp_path, DATABASE_URL="postgresql://someone@127.0.0.1:1/x")
    for command in (["api"], ["worker", "remember"]):
        done = run(env, *command)
        assert done.returncode == 1
        assert "set VAULT_URL, REDIS_URL, MILVUS_URI" in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_unknown_worker_is_refused(stores: tuple[Mapping[str, str], str]) -> None:
    """The message names the workers there are."""
    done = run(stores[0], "worker", "dream")
    assert done.returncode == 1
    assert "no such worker: dream; known: seal" in done.stderr


def test_two_remember_workers_consider_every_turn_once(processes: Processes) -> None:
    """Thirty turns over two workers: each considered exactly once."""
    person = processes.door.for_subject(processes.key, "two")
    for number in range(TURNS):
        assert person.finalize(turn("two", number)).state == "stored"
    considered(person, "two", range(TURNS))
    assert asyncio.run(count(processes.database_url, "turn_finalized")) == (TURNS, TURNS)
    assert asyncio.run(count(processes.database_url, "turn_considered")) == (TURNS, TURNS)
    assert len(person.memories().memories) >= TURNS // 2 - 2


def test_a_killed_workers_turns_are_taken_over(processes: Processes) -> None:
    """Kill -9 on one of the two in the middle: everything is still considered, and only once."""
    person = processes.door.for_subject(processes.key, "killed")
    for number in range(TURNS):
        person.finalize(turn("killed", number))
        if number == TURNS // 2:
            assert processes.remembering[0].stop(signal.SIGKILL) == -signal.SIGKILL
    considered(person, "killed", range(TURNS))
    finalized, _ = asyncio.run(count(processes.database_url, "turn_finalized"))
    assert asyncio.run(count(processes.database_url, "turn_considered")) == (finalized, finalized)


def test_a_part_without_its_login_says_so(stores: tuple[Mapping[str, str], str], tmp_path: Path) -> None:
    """A process that was not given a password of its roles ends at once and names the role."""
    done = run(part(stores[0], tmp_path / "wrong", "api"), "worker", "seal")
    assert done.returncode == 1
    assert "refuses the login cenotaph_sealer" in done.stderr
