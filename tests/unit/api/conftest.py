"""The door over a recording backend, in this process and without a socket."""

import socket
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import NoReturn
from uuid import uuid4

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.model import Scope, SubjectId, TenantId
from services.access.keys import mint_key
from services.access.rights import TokenRole
from services.access.tokens import TokenSigner
from services.api.app import create_app
from services.api.openapi import Api
from services.wire.limits import Limits
from tests.unit.api.backend import RecordingBackend

LIMITS = Limits(max_messages=5, max_message_chars=100, max_body_bytes=20_000)


@pytest.fixture(autouse=True)
def _no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make any attempt to reach the network fail."""

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("a unit test opened a socket")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "bind", refuse)


@pytest.fixture
def scope() -> Scope:
    """Make a person."""
    return Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))


@pytest.fixture
def backend(scope: Scope) -> RecordingBackend:
    """Make the backend of that person's tenant."""
    return RecordingBackend(scope.tenant_id, mint_key(scope.tenant_id)[0])


@pytest.fixture
def signer() -> TokenSigner:
    """Make a signing key."""
    return TokenSigner(Ed25519PrivateKey.generate())


@pytest.fixture
def app(backend: RecordingBackend, signer: TokenSigner) -> Api:
    """Build the door with small limits."""
    return create_app(backend, signer, LIMITS)


@pytest.fixture
def bearer(scope: Scope, signer: TokenSigner) -> Callable[[TokenRole], dict[str, str]]:
    """Make headers for a part."""

    def headers(role: TokenRole) -> dict[str, str]:
        token, _ = signer.issue(scope, role, timedelta(minutes=5))
        return {"Authorization": f"Bearer {token}"}

    return headers


@pytest.fixture
async def nobody(app: Api) -> AsyncIterator[httpx.AsyncClient]:
    """Talk to the door without a credential."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://door") as client:
        yield client


@pytest.fixture
async def agent(app: Api, bearer: Callable[[TokenRole], dict[str, str]]) -> AsyncIterator[httpx.AsyncClient]:
    """Talk to the door as an agent."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://door", headers=bearer(TokenRole.AGENT)
    ) as client:
        yield client
