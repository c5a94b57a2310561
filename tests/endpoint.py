"""An OpenAI-compatible endpoint on loopback that does what a test tells it, down to the bytes."""

import asyncio
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from services.extraction.extractor import Rules
from services.extraction.model.breaker import Breaker
from services.extraction.model.budget import Allowance, Budget
from services.extraction.model.endpoint import Endpoint
from services.extraction.model.extractor import Limits, ModelExtractor


@dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def said(self) -> list[str]:
        """The messages of the person that were sent."""
        data = self.body["messages"][-1]["content"].removeprefix("<data>\n").removesuffix("\n</data>")
        return list(json.loads(data)["said"])


Reply = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Model:
    """The server; `reply` answers the next requests."""

    reply: Reply
    scheme: str = "http"
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The base of the endpoint."""
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection in a task that ends with the server."""
        self.tasks.append(asyncio.create_task(self._take(reader, writer)))

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, UnicodeDecodeError):
            try:
                await self._reply_to(reader, writer)
            except asyncio.CancelledError:
                writer.transport.abort()
                raise
            finally:
                writer.close()
                await writer.wait_closed()

    async def _reply_to(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        request = Request(head[0].split()[1], headers, body)
        self.requests.append(request)
        self.arrived.set()
        await self.reply(request, writer)
        await writer.drain()


def raw(status: str, body: bytes = b"", *headers: str) -> Reply:
    """Reply with a status line, headers and a body."""

    async def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        del request
        length = f"Content-Length: {len(body)}"
        writer.write("\r\n".join([f"HTTP/1.1 {status}", length, "Connection: close", *headers, "", ""]).encode() + body)

    return reply


def saying(text: str, *, tokens: int = 100) -> Reply:
    """Reply with a completion of this text."""
    completion = {
        "choices": [{"message": {"role": "assistant", "content": text}}],
        "usage": {"total_tokens": tokens},
    }
    return raw("200 OK", json.dumps(completion).encode())


def item(quote: str, value: str, **other: object) -> dict[str, object]:
    """Make one proposal."""
    return {
        "quote": quote,
        "value": value,
        "kind": "fact",
        "key": None,
        "positive": True,
        "assertion": "stated",
        "once": False,
        "sensitive": None,
        "confidence": 0.9,
    } | other


def proposing(*items: dict[str, object], tokens: int = 100) -> Reply:
    """Reply with proposals."""
    return saying(json.dumps({"memories": items}), tokens=tokens)


def own_certificate(folder: Path) -> ssl.SSLContext:
    """Make a certificate for 127.0.0.1 that only itself vouches for, `cert.pem`, and what serves with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain, pem = serialization.NoEncryption(), serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return tls


@asynccontextmanager
async def serving(reply: Reply, tls: ssl.SSLContext | None = None) -> AsyncIterator[Model]:
    """Run an endpoint on a free port."""
    model = Model(reply, scheme="https" if tls else "http")
    server = await asyncio.start_server(model.take, "127.0.0.1", 0, ssl=tls)
    model.port = server.sockets[0].getsockname()[1]
    try:
        yield model
    finally:
        server.close()
        for task in model.tasks:
            task.cancel()
        await asyncio.gather(*model.tasks, return_exceptions=True)


KEY = SecretStr("sk-test-0000-never-in-a-log")
WITHIN = Limits(within_s=20, tries=1, at_once=2, input_tokens=4000, output_tokens=500, pause_s=0.001)
PLENTY = Allowance(calls=1000, tokens=10_000_000)


@asynccontextmanager
async def reading(
    url: str,
    *,
    limits: Limits = WITHIN,
    process: Allowance = PLENTY,
    tenant: Allowance = PLENTY,
    breaker: Breaker | None = None,
    try_s: float = 20,
    max_bytes: int = 100_000,
    registry: CollectorRegistry | None = None,
) -> AsyncIterator[ModelExtractor]:
    """Give the extractor over an endpoint."""
    extractor = ModelExtractor(
        "tiny",
        Endpoint(url, "tiny", KEY, try_s=try_s, max_bytes=max_bytes, max_tokens=limits.output_tokens),
        budget=Budget(process, tenant),
        breaker=breaker or Breaker(1000, 1),
        limits=limits,
        count=len,
        rules=Rules(),
        registry=registry,
    )
    try:
        yield extractor
    finally:
        await extractor.close()
