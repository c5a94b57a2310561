"""Unwrapping tenants' secrets: once for all who ask together, each tenant's bound to it, again after a roll (R4)."""

from pathlib import Path
from uuid import UUID, uuid4

import pytest

from events.errors import EpochGoneError, TamperError
from events.postgres import Row
from events.provider import FileProvider
from events.unwrapper import Unwrapper

KEY = b"key"


class Counting(FileProvider):
    """A provider that counts how often it is asked to unwrap."""

    asked = 0

    async def unwrap(self, epoch_id: UUID, wrapped: bytes, bound: bytes) -> bytes:
        """Open what `wrap` sealed."""
        self.asked += 1
        return await super().unwrap(epoch_id, wrapped, bound)


@pytest.fixture
def provider(tmp_path: Path) -> Counting:
    """Keep epochs in a folder of the test's own."""
    return Counting(tmp_path / "keys")


async def wrapped(provider: FileProvider, epoch: UUID, tenant: UUID, secret: bytes) -> Row:
    """Make a row of a tenant's as the vault holds it."""
    await provider.new_epoch(epoch)
    sealed = await provider.wrap(epoch, secret, tenant.bytes + KEY)
    return {"tenant_id": tenant, "epoch_id": epoch, "wrapped": sealed}


async def test_who_asks_together_shares_one_answer_and_a_later_batch_asks_again(provider: Counting) -> None:
    """Rows of the same tenant cost one answer of the provider, one that is gone costs none, and nothing is kept."""
    epoch = uuid4()
    ours, theirs = await wrapped(provider, epoch, uuid4(), b"ours"), await wrapped(provider, epoch, uuid4(), b"theirs")
    rows = [ours, None, theirs, ours]

    async def read() -> list[Row | None]:
        return rows

    unwrapper = Unwrapper(provider)
    assert await unwrapper.read(read, "wrapped", KEY) == [(ours, b"ours"), None, (theirs, b"theirs"), (ours, b"ours")]
    assert provider.asked == 2
    await unwrapper.read(read, "wrapped", KEY)
    assert provider.asked == 4


async def test_a_secret_copied_to_another_tenant_opens_for_nobody_even_beside_its_own(provider: Counting) -> None:
    """What was wrapped for one tenant is no key of another, whoever else is asked for at the same moment."""
    ours = await wrapped(provider, uuid4(), uuid4(), b"ours")
    copied = {**ours, "tenant_id": uuid4()}

    async def read() -> list[Row | None]:
        return [ours, copied]

    with pytest.raises(TamperError):
        await Unwrapper(provider).read(read, "wrapped", KEY)


async def test_rows_are_read_again_where_a_roll_destroyed_their_epoch(provider: Counting) -> None:
    """Whoever read a row before a roll and asks after it gets the row of the new epoch; without a roll it fails."""
    tenant, old = uuid4(), uuid4()
    before, after = (
        await wrapped(provider, old, tenant, b"secret"),
        await wrapped(provider, uuid4(), tenant, b"secret"),
    )
    await provider.destroy_epoch(old)
    states: list[list[Row | None]] = [[after], [before]]

    async def read() -> list[Row | None]:
        return states.pop() if len(states) > 1 else states[0]

    assert await Unwrapper(provider).read(read, "wrapped", KEY) == [(after, b"secret")]

    async def unrolled() -> list[Row | None]:
        return [before]

    with pytest.raises(EpochGoneError):
        await Unwrapper(provider).read(unrolled, "wrapped", KEY)
