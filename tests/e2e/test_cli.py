"""The command line against a running `up`, as a user sees it."""

import asyncio
import json
import os
import re
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
from redis import Redis

from cenotaph.answers import Memory
from cenotaph.calls import MemoryStatus, TaskStart
from cenotaph.client import Cenotaph
from cenotaph.errors import CenotaphError
from ops.cli.memory import every_memory
from ops.cli.options import Door
from ops.cli.places import find_door
from ops.state import RunState, running
from tests.e2e.command import Process, environment, ok, run

GOLDEN = Path(__file__).parent.parent / "golden" / "conversation.jsonl"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@dataclass
class Up:
    """A running `up`; a test that ends it puts another one in its place."""

    env: Mapping[str, str]
    data: Path
    process: Process

    @property
    def state(self) -> RunState:
        """What its state file says."""
        state = running(self.data)
        assert state is not None
        return state

    def again(self) -> None:
        """Start it anew on the same data."""
        self.process = Process(self.env, "up", "--port", "0")
        self.process.until("listens on")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Run everything on a folder of its own."""
    data = tmp_path_factory.mktemp("up")
    env = environment(data)
    up = Up(env, data, Process(env, "up", "--port", "0"))
    try:
        up.process.until("listens on")
        yield up
    finally:
        up.process.stop()


def wait_for(true: Callable[[], object], timeout: float = 90) -> None:
    """Ask until something is true."""
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def memories(up: Up, subject: str = "me", status: MemoryStatus | None = None, key: str | None = None) -> list[Memory]:
    """List memories without the second a command takes to start."""
    url, own = find_door(Door(up.data, key))
    with Cenotaph(url) as door:
        return every_memory(door.for_subject(own, subject), status)


def test_without_up_a_command_says_what_to_do(tmp_path: Path) -> None:
    """Commands that need a running system name `cenotaph up`; `down` finds that there is nothing to do."""
    env = environment(tmp_path)
    for command in (["recall", "q"], ["status"], ["rebuild", "facts"]):
        done = run(env, *command)
        assert (done.returncode, done.stdout) == (1, ""), command
        assert "run `cenotaph up` first" in done.stderr
        assert "Traceback" not in done.stderr
    assert "nothing runs" in ok(env, "down")


def test_up_publishes_where_it_is_and_keeps_its_secrets(up: Up) -> None:
    """State file and API key are readable by their owner only, and the key is printed nowhere."""
    state, key = up.data / "up.json", up.data / "keys" / "tenant.key"
    assert up.state.pid == up.process.pid
    assert up.state.url is not None
    assert up.state.endpoints is not None
    assert [stat.S_IMODE(path.stat().st_mode) for path in (state, key)] == [0o600, 0o600]
    assert key.read_text().strip() not in "".join(up.process.lines)


def test_a_second_up_is_refused(up: Up) -> None:
    """Two on one directory would write into each other's files."""
    done = run(up.env, "up", "--port", "0")
    assert done.returncode == 1
    assert f"another cenotaph (pid {up.process.pid}) already runs" in done.stderr
    assert "Traceback" not in done.stderr


def test_remember_recall_forget(up: Up) -> None:
    """What is remembered is recalled, held and refused things say why, and what is forgotten has a signed receipt."""
    assert re.search(r"accepted preference 喜欢北京烤鸭 .*v1", ok(up.env, "remember", "请记住：我喜欢北京烤鸭。"))
    assert "needs_consent" in ok(up.env, "remember", "对了，我对青霉素过敏。")
    said = ok(up.env, "remember", "My database password is Moonlake-4471-demo.")
    assert "redacted 1 × password" in said
    assert "Moonlake" not in said

    recalled = ok(up.env, "recall", "晚饭吃什么", "--budget", "300")
    assert "北京烤鸭" in recalled
    cited = re.search(rf"cited +({UUID}) v1  preference", recalled)
    assert cited is not None
    listed = [json.loads(line) for line in ok(up.env, "memories", "--json").splitlines()]
    assert [each["status"] for each in listed] == ["held", "active"]
    assert re.search(r"active +preference +喜欢北京烤鸭", ok(up.env, "memories"))

    assert re.search(r"vector_index +yes +1", ok(up.env, "where", cited[1]))
    file = up.data.parent / "export.jsonl"
    assert "lies in a folder of cenotaph" in run(up.env, "export", "write", str(up.data / "export.jsonl")).stderr
    assert "exported 2 memories" in ok(up.env, "export", "write", str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "nothing of it has been forgotten" in ok(up.env, "export", "check", str(file))
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    (number,) = [count for count, line in enumerate(lines, 1) if line.get("memory_id") == cited[1]]

    assert "signature verified" in (shown := ok(up.env, "forget", cited[1], "--yes"))
    gone = run(up.env, "export", "check", str(file))
    assert (gone.returncode, gone.stdout) == (1, f"forgotten since: line {number}\n")
    file.write_text(file.read_text(encoding="utf-8").replace("烤鸭", "烤鹅"), encoding="utf-8")
    assert "was changed" in run(up.env, "export", "check", str(file)).stderr
    assert lines[-1]["export_id"] in ok(up.env, "export", "list")
    assert re.search(r"vector_index +no", ok(up.env, "where", cited[1]))
    assert "deletion_propagated" in shown
    assert "vector_index" in shown
    assert "北京烤鸭" not in ok(up.env, "recall", "晚饭吃什么，北京烤鸭？")
    (receipt,) = [json.loads(line) for line in ok(up.env, "receipts", "list", "--json").splitlines()]
    assert receipt["memory_id"] == cited[1]
    assert "signature verified" in ok(up.env, "receipts", "show", receipt["receipt_id"])
    assert "read_path" in ok(up.env, "receipts", "watch", receipt["receipt_id"])


def test_forgetting_asks_first(up: Up) -> None:
    """Without `--yes` and an answer nothing is forgotten, only shown what would go; an unknown id is one line."""
    (held,) = memories(up, status="held")
    asked = run(up.env, "forget", str(held.memory_id))
    assert asked.returncode == 1
    assert re.search(r"1 memories and \d+ messages of 1 turns go; 0 memories lose a source", asked.stdout)
    assert memories(up, status="held") == [held]
    done = run(up.env, "forget", "00000000-0000-4000-8000-000000000000", "--yes")
    assert done.returncode == 1
    assert "not-found" in done.stderr
    assert "Traceback" not in done.stderr


def test_ingest_takes_what_it_can_and_names_what_it_cannot(up: Up, tmp_path: Path) -> None:
    """Bad lines are reported by number without their content, good ones are stored; a second run adds nothing."""
    good = GOLDEN.read_text(encoding="utf-8").splitlines()[:12]
    other = json.dumps(json.loads(good[4]) | {"occurred_at": "2026-08-03T09:26:00+08:00"})
    file = tmp_path / "turns.jsonl"
    lines = [*good, "{not json", '{"turn_id": "秘密"}', "", other, json.dumps(json.loads(good[0]) | {"subject": "lin"})]
    file.write_text("\n".join(lines), encoding="utf-8")
    done = run(up.env, "ingest", str(file), "--subject", "shen")
    assert done.returncode == 1
    assert re.search(r"line 13: the body is not JSON", done.stderr)
    assert re.search(r"line 14: .*session_id: Field required", done.stderr)
    assert re.search(r"line 16: turn-conflict", done.stderr)
    assert "秘密" not in done.stderr
    assert re.search(r"stored +13", done.stdout)
    assert re.search(r"refused +3", done.stdout)
    assert re.search(r"accepted +\d", done.stdout)

    before = memories(up, "shen")
    assert before
    file.write_text("\n".join(good), encoding="utf-8")
    again = ok(up.env, "ingest", str(file), "--subject", "shen")
    assert re.search(r"known +12", again)
    assert memories(up, "shen") == before


async def rows(up: Up) -> dict[str, list[str]]:
    """Every row of every table of the read models."""
    assert up.state.endpoints is not None
    connection = await asyncpg.connect(up.state.endpoints.database_url)
    try:
        tables = await connection.fetch(
            "select schemaname, tablename from pg_tables where schemaname in ('facts', 'keywords', 'sessions', 'tasks')"
        )
        return {
            f"{schema}.{table}": sorted(
                row[0]
                for row in await connection.fetch(f'select t::text from "{schema}"."{table}" t')  # noqa: S608 - names come from the catalogue
            )
            for schema, table in tables
        }
    finally:
        await connection.close()


def begin_task(up: Up) -> None:
    """Let a workflow begin a task, once, and wait until it is followed."""
    url, own = find_door(Door(up.data, None))
    start = TaskStart(command_id="c-1", task_id="task-1", type="dinner", name="晚饭", goal="book a table")
    with Cenotaph(url) as door:
        door.for_subject(own, "shen", role="workflow").start_task(start)
    wait_for(lambda: asyncio.run(rows(up))["tasks.task"])


def test_a_rebuild_while_up_runs_gives_the_same_rows(up: Up) -> None:
    """Every read model made anew from the log equals the one that followed it, and answers stay the same."""
    begin_task(up)
    before = asyncio.run(rows(up))
    found = ok(up.env, "recall", "what does she drink 喝什么", "--subject", "shen")
    said = ok(up.env, "rebuild", "all")
    assert re.findall(r"rebuilt (\w+) from", said) == ["facts", "keywords", "sessions", "tasks", "vectors"]
    assert asyncio.run(rows(up)) == before
    assert sum(map(len, before.values())) > 30
    assert (
        ok(up.env, "recall", "what does she drink 喝什么", "--subject", "shen").splitlines()[:6]
        == found.splitlines()[:6]
    )
    assert "accepted" in ok(up.env, "remember", "I love jasmine tea.", "--subject", "rebuilt")


def test_replay_shows_a_tenants_log(up: Up) -> None:
    """Positions ascend, bodies open, `--type` filters, what was forgotten is a stone, bad input is refused."""
    events = [json.loads(line) for line in ok(up.env, "replay", "--json").splitlines()]
    positions = [event["position"] for event in events]
    assert positions == sorted(set(positions))
    states = {part["state"] for event in events for part in event["parts"]}
    assert {"open", "forgotten", "sealed"} <= states <= {"open", "forgotten", "expired", "sealed"}
    open_ = [part for event in events for part in event["parts"] if part["state"] == "open"]
    said = [part["body"]["content"] for part in open_ if part["part"].startswith("message:")]
    assert any("烤鸭" in each or "jasmine" in each for each in said)
    stranger = ok(up.env, "tenant", "create").strip()
    assert ok(up.env, "replay", "--json", "--key", stranger) == ""
    (tombstone,) = [json.loads(line) for line in ok(up.env, "replay", "--json", "--type", "tombstoned").splitlines()]
    assert tombstone["data"]["memories"]
    first, last = (str(positions[at]) for at in (1, 3))
    assert len(ok(up.env, "replay", "--json", "--from", first, "--to", last).splitlines()) == 3
    for wrong in (
        ("--type", "nonsense"),
        ("--from", "4", "--to", "2"),
        ("--from", "100000"),
        ("--key", "cnk_no"),
        ("--subject", "nobody"),
        ("--as-of", "2026-01-01T09:00:00", "--subject", "shen"),
        ("--as-of", "yesterday", "--subject", "shen"),
        ("--as-of", "3"),
        ("--valid-at", "2026-01-01T09:00:00Z", "--subject", "shen", "--from", "2"),
    ):
        refused = run(up.env, "replay", *wrong)
        assert (refused.returncode, refused.stdout) == (1, ""), wrong
        assert refused.stderr.startswith("cenotaph: "), wrong


def test_replay_shows_a_memory_as_it_was(up: Up) -> None:
    """What was recorded by a time, and what of it was true at another; under today's fence."""
    ok(up.env, "remember", "Please remember that I live in Utrecht.", "--subject", "mover")
    between = datetime.now(UTC).isoformat()
    ok(up.env, "remember", "Please remember that I live in Rotterdam now.", "--subject", "mover")

    def shown(*asked: str) -> list[tuple[str, str]]:
        lines = ok(up.env, "replay", "--json", "--subject", "mover", *asked).splitlines()
        return [(each["status"], each["body"]["value"]) for each in map(json.loads, lines)]

    assert shown("--as-of", between) == [("current", "Utrecht")]
    assert shown("--as-of", datetime.now(UTC).isoformat()) == [("current", "Rotterdam")]
    assert shown("--valid-at", between) == [("superseded", "Utrecht")]
    assert shown("--as-of", between, "--valid-at", "2099-01-01T00:00:00+00:00") == [("current", "Utrecht")]


def test_audit_diff_finds_nothing_wrong(up: Up) -> None:
    """Every read model is compared and says what the log says."""
    begin_task(up)
    reports = [json.loads(line) for line in ok(up.env, "audit", "diff", "--json").splitlines()]
    assert [report["model"] for report in reports] == ["facts", "keywords", "sessions", "tasks", "vectors"]
    assert all(report["compared"] and not report["differences"] for report in reports)


def test_status_verify_tenant_token(up: Up) -> None:
    """The operator's commands: all is well, the log verifies, keys and tokens are made that the door takes."""
    status = json.loads(ok(up.env, "status", "--json"))
    assert set(status["stores"].values()) == {"ok"}
    assert set(status["lag"]) == {"dispatch", "facts", "keywords", "sessions", "shred", "tasks", "vectors"}
    assert (status["turns_waiting"], status["pending_deletions"], status["dead_letters"]) == (0, 0, 0)
    for name in (("audit", "verify"), ("verify",)):  # the short name is the same command
        assert re.search(r"verified \d+ events, \d+ bodies; [1-9]", ok(up.env, *name))

    key = ok(up.env, "tenant", "create").strip()
    assert memories(up, key=key) == []
    with pytest.raises(CenotaphError, match="unauthorized"):
        memories(up, key=key[:-2] + "xx")

    token = ok(up.env, "token", "shen").strip()
    turn = {
        "turn_id": "from-elsewhere",
        "session_id": "s",
        "occurred_at": "2026-08-20T09:00:00Z",
        "messages": [{"message_id": "m1", "role": "user", "content": "I never eat celery."}],
    }
    assert up.state.endpoints is not None
    with Redis.from_url(up.state.endpoints.redis_url) as client:
        client.xadd("turns", {"token": token, "turn": json.dumps(turn)})
    wait_for(lambda: any("celery" in (each.content or "") for each in memories(up, "shen")))


def test_keys_roll_by_hand(up: Up) -> None:
    """Who forgot waits for a roll, which can be had at once; memory and receipts are as before."""
    kept = memories(up)
    state = json.loads(ok(up.env, "keys", "status", "--json"))
    assert (state["people_due"], state["trouble"]) == (1, [])
    assert "nothing is due" in ok(up.env, "keys", "roll")
    assert "epochs destroyed: 1" in ok(up.env, "keys", "roll", "--now")
    assert "people waiting for it 0" in " ".join(ok(up.env, "keys", "status").split())
    assert memories(up) == kept
    (receipt,) = [json.loads(line) for line in ok(up.env, "receipts", "list", "--json").splitlines()]
    assert receipt["keys_die_by"] == json.loads(receipt["statement"])["keys_die_by"]
    assert "open nothing from" in ok(up.env, "receipts", "show", receipt["receipt_id"])


def test_dead_letters_are_listed_replayed_and_dropped(up: Up) -> None:
    """What no retry can help is listed without content; a replay that fails keeps it, a drop takes it away."""
    assert up.state.endpoints is not None
    token = ok(up.env, "token", "shen").strip()
    with Redis.from_url(up.state.endpoints.redis_url) as client:
        client.xadd("turns", {"token": token, "turn": '{"turn_id": "我对花生过敏"}'})
    wait_for(lambda: ok(up.env, "dead-letters", "list", "--json"))
    said = ok(up.env, "dead-letters", "list", "--json")
    letter = json.loads(said)
    assert (letter["stream"], letter["reason"], letter["sealed"]) == ("turns", "InvalidError", True)
    shown = ok(up.env, "dead-letters", "show", letter["letter_id"]) + ok(up.env, "dead-letters", "list")
    assert "花生" not in said + shown
    failed = run(up.env, "dead-letters", "replay", "--all")
    assert (failed.returncode, "InvalidError" in failed.stderr, "花生" in failed.stderr) == (1, True, False)
    assert run(up.env, "dead-letters", "drop", str(uuid4()), "--yes").returncode == 1
    assert "dropped" in ok(up.env, "dead-letters", "drop", letter["letter_id"], "--yes")
    assert ok(up.env, "dead-letters", "list", "--json") == ""


def test_an_auditor_verifies_with_and_without_access(up: Up, tmp_path: Path) -> None:
    """The log, a bundle of it and one of a part verify under the pinned first key, before and after a new key signs."""
    key = ok(up.env, "audit", "key").strip()
    ok(up.env, "remember", "I like green tea.", "--subject", "audited")
    rotated = re.search(r"key 1 signs what is behind the first (\d+) events", ok(up.env, "audit", "rotate-key"))
    assert rotated is not None
    report = json.loads(ok(up.env, "audit", "verify", "--key", key, "--json"))
    assert (report["ok"], report["keys"], report["pinned"]) == (True, 2, True)
    assert report["independent_events"] >= int(rotated[1]) > 2
    assert key == ok(up.env, "audit", "key").strip()
    whole, part = str(tmp_path / "whole.zip"), str(tmp_path / "part.zip")
    assert "the whole log" in ok(up.env, "audit", "export", whole)
    assert "under the checkpoint" in ok(up.env, "audit", "export", part, "--from", "0", "--to", "2")
    nowhere = environment(tmp_path / "nowhere")
    said = ok(nowhere, "audit", "check", whole, "--key", key)
    assert "events since, which are the operator's word" in said or "0 events since" in said
    assert "verified 3 events" in ok(nowhere, "audit", "check", part, "--key", key)
    foreign = run(nowhere, "audit", "check", part, "--key", key.replace(key[-6:], "AAAAAA"))
    assert foreign.returncode == 1
    assert "Traceback" not in foreign.stderr


def test_a_backup_is_tried_while_the_log_lives(up: Up, tmp_path: Path) -> None:
    """Both parts lie apart and outside; a restore asks which it is; a drill leaves the living second place alone."""
    folder, keys, place = str(tmp_path / "log"), str(tmp_path / "keys"), up.data / "second-place"
    inside = run(up.env, "backup", str(up.data / "log"), "--keys", keys)
    within = run(up.env, "backup", folder, "--keys", f"{folder}/keys")
    assert (inside.returncode, within.returncode) == (1, 1)
    assert "lies in a folder of cenotaph" in inside.stderr
    assert "keep the keys apart" in within.stderr
    assert "backed up" in ok(up.env, "backup", folder, "--keys", keys)
    drill = environment(tmp_path / "drill", CENOTAPH_SECOND_PLACE=str(place))
    unsaid = run(drill, "restore", folder, "--keys", keys)
    assert unsaid.returncode == 1
    assert "say which" in unsaid.stderr
    assert "nothing was written" in ok(drill, "restore", folder, "--keys", keys, "--drill", timeout=300)
    assert [each.name for each in (tmp_path / "drill" / "second-place" / "origins").iterdir()]
    assert not (place / "origins").exists()
    assert not (place / "restored").exists()
    assert json.loads(ok(up.env, "audit", "verify", "--json"))["ok"]


def test_an_embedded_server_that_dies_is_revived(up: Up) -> None:
    """A killed server is started again, and the system goes on."""
    # macOS has no /proc; ps is everywhere
    listed = subprocess.run(["ps", "-ewwo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout  # noqa: S607 - whichever ps there is
    (valkey,) = re.findall(rf"^ *(\d+) +{up.process.pid} .*valkey-server", listed, flags=re.MULTILINE)
    os.kill(int(valkey), signal.SIGKILL)
    up.process.until("embedded_server_revived")
    assert "accepted" in ok(up.env, "remember", "I hate horror movies.", "--subject", "after")


def test_what_was_acknowledged_survives_kill_9(up: Up, tmp_path: Path) -> None:
    """After kill -9 in the middle of taking turns, everything that was acknowledged is there once `up` runs again."""
    file = tmp_path / "turns.jsonl"
    file.write_text("\n".join(GOLDEN.read_text(encoding="utf-8").splitlines()[:40]), encoding="utf-8")
    ingest = Process(up.env, "ingest", str(file), "--subject", "killed", "--no-wait")
    wait_for(lambda: len(memories(up, "killed")) > 2)
    assert up.process.stop(signal.SIGKILL) == -signal.SIGKILL
    ingest.wait()
    up.again()
    said = ok(up.env, "ingest", str(file), "--subject", "killed")
    known = re.search(r"known +(\d+)", said)
    assert known is not None
    assert 0 < int(known[1]) <= 40
    assert len({each.memory_id for each in memories(up, "killed")}) > 15
    assert "verified" in ok(up.env, "audit", "verify")


def test_down_leaves_nothing_running(up: Up) -> None:
    """`down` returns when everything has stopped, and a Ctrl-C does the same."""
    assert "stopped" in ok(up.env, "down")
    assert up.process.wait() == 0
    listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout  # noqa: S607 - whichever ps there is
    assert str(up.data) not in listed
    assert running(up.data) is None
    up.again()
    assert up.process.stop(signal.SIGINT) == 0
    assert running(up.data) is None
