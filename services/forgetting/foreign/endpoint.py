"""An application's own endpoint: bounded in time and size, followed nowhere, left alone while it fails (R47)."""

import asyncio
import random
import ssl
import time
from typing import Final, TypeVar
from uuid import UUID, uuid4

import httpx
from pydantic import BaseModel, ValidationError

from events.breaker import Breaker
from events.errors import UnavailableError
from services.forgetting.foreign.asked import Asked
from services.forgetting.foreign.signing import RequestSigner
from services.wire.foreign import EraseAnswer, LayerRequest, ProbeAnswer

A = TypeVar("A", bound=BaseModel)

TRY_S: Final = 1.5
TRIES: Final = 2
_MOST_BYTES: Final = 64 * 1024
_FAILURES: Final = 5
_PAUSE_S: Final = 30.0
_JITTER_S: Final = 0.2


class ForeignError(UnavailableError):
    """An application's layer did not answer as the contract says; what it holds is not known."""


class Endpoint:
    """Speaks to one endpoint.

    Args:
        url: its base, to which `/erase` and `/probe` are added.
        signer: signs every request.
        bearer: sent as a bearer token; None where the application goes by the signature.
        try_s: how long one request may take; the second and last try follows after a moment.
    """

    def __init__(self, url: str, signer: RequestSigner, bearer: str | None = None, *, try_s: float = TRY_S) -> None:
        self._url = url.rstrip("/")
        self._signer = signer
        self._bearer = bearer
        self._try_s = try_s
        self._breaker = Breaker(
            _FAILURES, _PAUSE_S, opened=lambda: ForeignError("the layer failed too often and is left alone for a while")
        )
        self._client = httpx.AsyncClient(
            timeout=try_s, follow_redirects=False, trust_env=False, verify=ssl.create_default_context()
        )

    async def erase(self, asked: Asked) -> int:
        """Have copies erased; return how many there were.

        Raises:
            ForeignError: it does not answer as it should.
        """
        return (await self._ask("erase", asked, EraseAnswer)).erased

    async def held(self, asked: Asked) -> set[UUID]:
        """Return which memories it says it holds.

        Raises:
            ForeignError: it does not answer as it should, or names what it was not asked for.
        """
        held = set((await self._ask("probe", asked, ProbeAnswer)).held)
        if asked.memories and not held <= set(asked.memories):
            raise ForeignError("the layer names memories that it was not asked for")
        return held

    async def send(self, what: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
        """Send one request as it is.

        Raises:
            ForeignError: there is no answer in time, or it is too large.
        """
        try:
            async with (
                asyncio.timeout(self._try_s),
                self._client.stream("POST", self.target(what), content=body, headers=headers) as response,
            ):
                content = bytearray()
                async for piece in response.aiter_raw():
                    content += piece
                    if len(content) > _MOST_BYTES:
                        raise ForeignError("the layer's answer is too large")
                return httpx.Response(response.status_code, content=bytes(content))
        except (httpx.HTTPError, TimeoutError) as error:
            raise ForeignError(f"the layer does not answer ({type(error).__name__})") from None

    def target(self, what: str) -> str:
        """Return the address of `erase` or `probe`."""
        return f"{self._url}/{what}"

    def headers(self, what: str, body: bytes) -> dict[str, str]:
        """Return the headers of a request: signed, and with the bearer token if there is one."""
        headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            **self._signer.headers(self.target(what), body, int(time.time())),
        }
        return headers if self._bearer is None else {**headers, "Authorization": f"Bearer {self._bearer}"}

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask(self, what: str, asked: Asked, answer: type[A]) -> A:
        body = request(asked)
        with self._breaker.guard():
            for left in reversed(range(TRIES)):
                try:
                    return _read(await self.send(what, body, self.headers(what, body)), answer)
                except ForeignError:
                    if not left:
                        raise
                await asyncio.sleep(random.uniform(0, _JITTER_S))  # noqa: S311 - spreads load, protects nothing
        raise AssertionError("the last try answers or raises")


def request(asked: Asked) -> bytes:
    """Write a request."""
    sent = LayerRequest(
        request_id=uuid4(),
        scope=asked.scope,
        tenant_id=asked.tenant,
        subject_id=asked.subject,
        memories=asked.memories,
    )
    return sent.model_dump_json(by_alias=True).encode()


def _read(response: httpx.Response, answer: type[A]) -> A:
    if not response.is_success:
        raise ForeignError(f"the layer answers with status {response.status_code}")
    try:
        return answer.model_validate_json(response.content)
    except ValidationError:
        raise ForeignError("the layer's answer is not what the contract says") from None
