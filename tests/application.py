"""Another application that keeps copies of memories behind the contract for foreign layers, on a real socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from services.forgetting.foreign.signing import verified

Mood = Literal[
    "honest", "lying", "hanging", "dying", "rubbish", "failing", "endless", "elsewhere", "inventing", "credulous"
]
BEARER = "an application's own token"


@dataclass
class Application:
    """What it holds, how it behaves, and what it was sent."""

    public: str
    mood: Mood = "honest"
    held: set[str] = field(default_factory=set)
    of: dict[str, set[str]] = field(default_factory=dict)
    erase: Callable[[list[str]], Awaitable[None]] | None = None
    sent: list[tuple[str, bytes]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/memory"

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request as the mood has it."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            path = head[0].split()[1]
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.sent.append((path, body))
            if self.mood == "hanging":
                await reader.read()
            elif self.mood != "dying":
                status, answer = await self._answer(path, body, headers)
                more = "location: http://127.0.0.1:1/\r\n" if status == 307 else ""
                writer.write(
                    f"HTTP/1.1 {status} x\r\ncontent-length: {len(answer)}\r\n{more}connection: close\r\n\r\n".encode()
                    + answer
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        if self.mood in {"rubbish", "failing", "endless", "elsewhere"}:
            status = {"failing": 500, "elsewhere": 307}.get(self.mood, 200)
            return status, b"{" * (200_000 if self.mood == "endless" else 7)
        url = f"http://127.0.0.1:{self.port}{path}"
        ours = verified(url, body, headers, self.public) and headers.get("authorization") == f"Bearer {BEARER}"
        if not ours and self.mood != "credulous":
            return 401, b"{}"
        try:
            request = json.loads(body)
            asked = (
                request["memories"]
                if request["scope"] == "memories"
                else sorted(self.of.get(request["subject_id"], ()))
            )
        except ValueError:
            return 400, b"{}"
        if self.mood == "inventing":
            return 200, json.dumps({"held": ["00000000-0000-4000-8000-000000000000"], "erased": 0}).encode()
        if path.endswith("/erase"):
            gone = self.held.intersection(asked)
            if self.mood != "lying":
                self.held -= gone
                if self.erase is not None:
                    await self.erase(asked)
            return 200, json.dumps({"erased": len(gone)}).encode()
        held = [] if self.mood == "lying" else sorted(self.held.intersection(asked))
        return 200, json.dumps({"held": held}).encode()


@asynccontextmanager
async def application(public: str, mood: Mood = "honest") -> AsyncIterator[Application]:
    """Run it for the length of a block."""
    running = Application(public, mood)
    server = await asyncio.start_server(running.take, "127.0.0.1", 0)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        server.close()
        server.close_clients() if hasattr(server, "close_clients") else None
