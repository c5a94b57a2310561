"""The real door behind both kinds of client, without a socket."""

import asyncio
from dataclasses import dataclass, field

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from services.access.tokens import TokenSigner
from services.api.app import create_app
from services.wire.limits import Limits
from tests.unit.api.backend import RecordingBackend

ADDRESS = "http://door/"


class Blocking(httpx.BaseTransport):
    """Serves a blocking client from an ASGI app."""

    def __init__(self, app: httpx.ASGITransport) -> None:
        self._app = app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Run the app for one request."""
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(self._answer(request))
        finally:
            loop.close()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = await self._app.handle_async_request(request)
        return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())


@dataclass
class Faulty(httpx.AsyncBaseTransport):
    """Fails as the test says before it lets requests through, and keeps what it saw."""

    inner: httpx.AsyncBaseTransport
    faults: list[Exception | httpx.Response] = field(default_factory=list)
    seen: list[tuple[str, str | None]] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Fail, or pass on."""
        self.seen.append((request.url.path, request.headers.get("authorization")))
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Exception):
            raise fault
        return fault or await self.inner.handle_async_request(request)

    def paths(self) -> list[str]:
        """Return the paths asked for, in order."""
        return [path for path, _ in self.seen]


class Door:
    """A door, its backend, and the transports to it."""

    def __init__(self, backend: RecordingBackend) -> None:
        self.backend = backend
        self.app = create_app(backend, TokenSigner(Ed25519PrivateKey.generate()), Limits())
        self.faulty = Faulty(httpx.ASGITransport(self.app))
        self.blocking = Blocking(httpx.ASGITransport(self.app))

    def change_signing_key(self) -> None:
        """Make every token minted so far worthless."""
        door = self.app.state.door
        self.app.state.door = type(door)(door.backend, TokenSigner(Ed25519PrivateKey.generate()), door.limits)
