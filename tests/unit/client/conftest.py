"""Clients against the real door, in this process."""

import socket
from collections.abc import AsyncIterator
from typing import NoReturn
from uuid import uuid4

import pytest

from cenotaph.client import AsyncCenotaph
from cenotaph.transport import Retry
from events.model import TenantId
from services.access.keys import mint_key
from tests.unit.api.backend import RecordingBackend
from tests.unit.client.door import ADDRESS, Door


@pytest.fixture(autouse=True)
def _no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make any attempt to reach the network fail."""

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("a unit test opened a socket")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "bind", refuse)


@pytest.fixture
def door() -> Door:
    """Open a door."""
    tenant_id = TenantId(uuid4())
    return Door(RecordingBackend(tenant_id, mint_key(tenant_id)[0]))


@pytest.fixture
async def memory(door: Door) -> AsyncIterator[AsyncCenotaph]:
    """Connect for one person, without waiting between attempts."""
    async with AsyncCenotaph(ADDRESS, transport=door.faulty, retry=Retry(base_s=0, most_s=0)) as client:
        yield client.for_subject(door.backend.key, "用户-17")
