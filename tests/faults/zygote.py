"""A process that has everything imported and forks one life of the system after the other.

Starting Python anew for every kill would take most of a test's time. Each line on stdin begins a life, with the value
of CENOTAPH_FAILPOINT (or `-`); lines on stdout say `up PORT` and `ended CODE`. When stdin closes, the living one is
ended.
"""

import asyncio
import importlib
import os
import select
import signal
import traceback

from events import failpoint
from ops.composition import Composition
from ops.embedded import Endpoints
from ops.ending import Ending
from ops.logs import configure
from ops.run import ALL_WORKERS, Running
from ops.settings import Settings, load_settings


async def live(settings: Settings, endpoints: Endpoints, announce: int) -> None:
    """Run everything until told to stop."""
    ending = Ending()
    ending.take_over()
    async with Running(Composition(settings, endpoints), ALL_WORKERS, door=True) as running:
        os.write(announce, f"up {running.port}\n".encode())
        await ending.wait()


def be_born(point: str) -> None:
    """Become one life; never returns."""
    announce, log = os.dup(1), os.open(os.environ["LIFE_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ["CENOTAPH_FAILPOINT"] = point.strip("-")
    importlib.reload(failpoint)
    configure("info")
    settings = load_settings()
    urls = (settings.database_url, settings.vault_url, settings.redis_url, os.environ["LIFE_MILVUS"])
    asyncio.run(live(settings, Endpoints(*map(str, urls)), announce))
    os._exit(0)


def attend(child: int) -> bool:
    """Wait for a life to end; say whether there may be another."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            os.write(1, f"ended {os.waitstatus_to_exitcode(status)}\n".encode())
            return True
        if select.select([0], [], [], 0.01)[0]:
            order = os.read(0, 100)
            os.kill(child, signal.SIGTERM if order else signal.SIGKILL)
            if not order:
                return False


def main() -> None:
    """Fork lives until stdin closes."""
    while line := os.read(0, 100):
        if (child := os.fork()) == 0:
            try:
                be_born(line.decode().strip())
            except BaseException:  # noqa: BLE001 - a fork must never go on as its parent
                traceback.print_exc()
            finally:
                os._exit(1)
        if not attend(child):
            break


if __name__ == "__main__":
    main()
