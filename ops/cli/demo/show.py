"""The demo from start to end, on servers and a data directory of its own."""

import asyncio
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import ops
from cenotaph.client import AsyncCenotaph
from ops.cli.demo import play, steps
from ops.cli.demo.expect import Expectation, expectations
from ops.cli.demo.stage import Stage
from ops.composition import Composition
from ops.embedded import Embedded, Endpoints
from ops.run import ALL_WORKERS, Running
from ops.settings import Settings, load_settings

_GOLDEN = Path(ops.__file__).parent.parent / "tests" / "golden"
_TEN_YEARS_S = 10 * 365 * 24 * 3600


def perform() -> bool:
    """Run the demo; say whether every check held. Nothing is left behind."""
    began = time.monotonic()
    conversation = (_GOLDEN / "conversation.jsonl").read_bytes().splitlines()
    wanted = expectations(_GOLDEN / "conversation.expect.json")
    stage = Stage()
    data = Path(tempfile.mkdtemp(prefix="cenotaph-demo-"))
    try:
        settings = _settings(data)
        stage.step("启动", "Starting: Postgres twice, Valkey, Milvus, the workers and the API")
        with Embedded(settings) as embedded:
            stage.check("the embedded servers run", not embedded.dead() and len(embedded.processes()))
            asyncio.run(_perform(settings, embedded.endpoints, stage, conversation, wanted))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        shutil.rmtree(data, ignore_errors=True)
    stage.step("小结", "Summary")
    stage.check("nothing is left on disk", not data.exists())
    held = sum(check.held for check in stage.checks)
    stage.say(f"  {held} of {len(stage.checks)} checks held, {time.monotonic() - began:.0f} s")
    return stage.held


async def _perform(
    settings: Settings,
    endpoints: Endpoints,
    stage: Stage,
    conversation: Sequence[bytes],
    wanted: Sequence[Expectation],
) -> None:
    task = asyncio.current_task()
    assert task is not None, "asyncio.run made it"  # noqa: S101 - narrows the type
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    composition = Composition(settings, endpoints)
    await composition.migrate()
    _, key = await composition.create_tenant()
    async with (
        Running(composition, ALL_WORKERS, door=True) as up,
        AsyncCenotaph(f"http://{settings.host}:{up.port}", timeout_s=30) as door,
    ):
        person = door.for_subject(key, play.PERSON, role="person")
        stage.check("the API answers", not (await person.memories()).memories)
        stage.step("对话", "A conversation of several weeks: kept, held, refused, and why")
        played = await play.play(person, conversation, stage)
        stage.step("对照", "Compared with what a careful reader expects")
        await play.compare(person, played, wanted, stage)
        stage.step("改变偏好", "A changed preference supersedes the old one")
        await steps.supersede(person, played, stage)
        stage.step("上下文", "Context for an agent")
        context = await steps.ask(person, stage)
        stage.step("遗忘", "Forgetting one thing, and the receipt for it")
        await steps.forget(person, context, settings.keys / "receipts.pub", stage)
        stage.step("重放与校验", "Replaying and verifying the log")
        await steps.replay(composition, played, stage)


def _settings(data: Path) -> Settings:
    """Set everything the environment could set otherwise; clocks behind the conversation's dates do no harm."""
    stores = dict.fromkeys(("DATABASE_URL", "VAULT_URL", "REDIS_URL", "MILVUS_URI"))
    own = {"data": data, "keys": data / "keys", "second_place": data / "second-place", "host": "127.0.0.1", "port": 0}
    return load_settings(**own, **stores, max_future_skew_s=_TEN_YEARS_S)
