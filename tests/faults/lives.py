"""The system as a process that is killed again and again while somebody uses it."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from ops.embedded import Endpoints

_PATIENCE_S = 60.0
_STOP = b"stop\n"


class Lives:
    """Runs one life after the other, each armed with the next failpoint of a plan.

    Args:
        zygote: the process that forks lives.
        plan: failpoints with the number of the hit that kills, in order.
    """

    def __init__(self, zygote: asyncio.subprocess.Process, plan: Sequence[str]) -> None:
        self._zygote = zygote
        self._plan = list(plan)
        self._armed = "-"
        self._up = asyncio.Event()
        self._ended = asyncio.Event()
        self._url = ""
        self._stopping = False
        self.killed: list[str] = []
        self.codes: list[int] = []

    @property
    def armed(self) -> str:
        """The failpoint the present life is to die at, `-` for none."""
        return self._armed

    def arm(self, plan: Sequence[str]) -> None:
        """Let the lives after the present one die at these failpoints."""
        self._plan = list(plan)

    def begin(self) -> None:
        """Begin the next life."""
        self._stopping = False
        self._armed = self._plan.pop(0) if self._plan else "-"
        assert self._zygote.stdin is not None
        self._zygote.stdin.write(f"{self._armed}\n".encode())

    async def end(self) -> None:
        """Stop the present life politely, and begin no other."""
        self._stopping = True
        self._ended.clear()
        assert self._zygote.stdin is not None
        self._zygote.stdin.write(_STOP)
        await asyncio.wait_for(self._ended.wait(), _PATIENCE_S)

    async def turn_over(self) -> None:
        """Stop the present life politely and begin the next."""
        await self.end()
        self.begin()

    async def watch(self) -> None:
        """Note what the zygote says; a life that was killed is followed by the next."""
        assert self._zygote.stdout is not None
        async for line in self._zygote.stdout:
            what, value = line.decode().split()
            if what == "up":
                self._url = f"http://127.0.0.1:{value}"
                self._up.set()
                continue
            self._up.clear()
            self._ended.set()
            self.codes.append(int(value))
            if not self._stopping:
                self.killed.append(self._armed)
                self.begin()

    async def call(
        self, method: str, path: str, body: dict[str, Any] | None = None, token: str = "", *, wanted: Sequence[int] = ()
    ) -> dict[str, Any]:
        """Ask until there is an answer in JSON, over as many lives as it takes."""
        return dict((await self.ask(method, path, body, token, wanted=wanted)).json())

    async def ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, token: str = "", *, wanted: Sequence[int] = ()
    ) -> httpx.Response:
        """Ask until there is an answer, whatever it holds."""
        headers = {"Authorization": f"Bearer {token}"}
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                await self._up.wait()
                try:
                    async with httpx.AsyncClient(base_url=self._url, headers=headers, timeout=90) as http:
                        answer = await http.request(method, path, json=body)
                except httpx.TransportError:
                    await asyncio.sleep(0.02)
                    continue
                if answer.is_success or answer.status_code in wanted:
                    return answer
                assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE, answer.text
                await asyncio.sleep(0.05)


@asynccontextmanager
async def lives(endpoints: Endpoints, data: Path, hits: Path) -> AsyncIterator[Lives]:
    """Hold a zygote whose lives use these stores and share this folder for keys and second place."""
    settings = {
        "DATABASE_URL": endpoints.database_url,
        "VAULT_URL": endpoints.vault_url,
        "REDIS_URL": endpoints.redis_url,
        "LIFE_MILVUS": endpoints.milvus_uri,  # pymilvus would read MILVUS_URI at import, and refuse a socket
        "CENOTAPH_DATA": str(data),
        "CENOTAPH_PORT": "0",
        "CENOTAPH_RECLAIM_IDLE_MS": "500",
        "CENOTAPH_SWEEP_AFTER_S": "1",
        "CENOTAPH_PREPARE_WITHIN_MS": "60000",  # a busy machine is no fault of the code
        "CENOTAPH_DELIVERY_CAP": "50",
        "CENOTAPH_FAILPOINT_HITS": str(hits),
        "LIFE_LOG": str(data / "logs" / "life.log"),
    }
    zygote = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.faults.zygote",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **settings},
    )
    held = Lives(zygote, ())
    watching = asyncio.create_task(held.watch())
    try:
        yield held
    finally:
        held._stopping = True
        assert zygote.stdin is not None
        zygote.stdin.close()
        await asyncio.wait_for(zygote.wait(), _PATIENCE_S)
        await watching


def counted(hits: Path) -> Counter[str]:
    """Count the hits of each failpoint over all lives."""
    return Counter(hits.read_text(encoding="ascii").split())
