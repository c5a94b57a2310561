"""What every key provider must do: the folder of files, and one in the shape of a KMS that never hands a secret out."""

import os
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.envelope import decrypt, encrypt
from events.errors import EpochGoneError, SecretError, TamperError
from events.keyfile import destroy
from events.provider import FileProvider, Provider
from tests.vaults import ids, vaulted

BOUND = b"tenant"


class RemoteProvider:
    """Keeps secrets where nobody reads them, as a KMS does."""

    def __init__(self) -> None:
        self._secrets: dict[UUID, bytes] = {}

    async def new_epoch(self, epoch_id: UUID) -> None:
        """Make a secret."""
        self._secrets.setdefault(epoch_id, os.urandom(32))

    async def wrap(self, epoch_id: UUID, secret: bytes, bound: bytes) -> bytes:
        """Seal."""
        return encrypt(self._secret(epoch_id), secret, bound)

    async def unwrap(self, epoch_id: UUID, wrapped: bytes, bound: bytes) -> bytes:
        """Open."""
        return decrypt(self._secret(epoch_id), wrapped, bound)

    async def destroy_epoch(self, epoch_id: UUID) -> None:
        """Drop a secret."""
        self._secrets.pop(epoch_id, None)

    async def list_epochs(self) -> frozenset[UUID]:
        """Name what is there."""
        return frozenset(self._secrets)

    def _secret(self, epoch_id: UUID) -> bytes:
        if epoch_id not in self._secrets:
            raise EpochGoneError(f"no epoch {epoch_id}")
        return self._secrets[epoch_id]


@pytest.fixture(params=["file", "remote"])
def provider(request: pytest.FixtureRequest, tmp_path: Path) -> Provider:
    """Give each implementation in turn."""
    return FileProvider(tmp_path / "keys") if request.param == "file" else RemoteProvider()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(secret=st.binary(max_size=64), bound=st.binary(max_size=40))
async def test_what_is_wrapped_opens(provider: Provider, secret: bytes, bound: bytes) -> None:
    """Whatever was wrapped under an epoch opens under it and its place, and is not readable before."""
    epoch = uuid4()
    await provider.new_epoch(epoch)
    wrapped = await provider.wrap(epoch, secret, bound)
    assert await provider.unwrap(epoch, wrapped, bound) == secret
    assert len(secret) < 8 or secret not in wrapped


async def test_what_belongs_elsewhere_does_not_open(provider: Provider) -> None:
    """Another epoch, another place and changed bytes are tampering."""
    one, other = uuid4(), uuid4()
    await provider.new_epoch(one)
    await provider.new_epoch(other)
    wrapped = await provider.wrap(one, b"secret", BOUND)
    for epoch, content, bound in (
        (other, wrapped, BOUND),
        (one, wrapped, b"else"),
        (one, wrapped[:-1], BOUND),
        (one, b"", BOUND),
    ):
        with pytest.raises(TamperError):
            await provider.unwrap(epoch, content, bound)


async def test_making_an_epoch_again_keeps_it(provider: Provider) -> None:
    """A roll that was killed makes its epoch again: what was wrapped meanwhile still opens."""
    epoch = uuid4()
    await provider.new_epoch(epoch)
    wrapped = await provider.wrap(epoch, b"secret", BOUND)
    await provider.new_epoch(epoch)
    assert await provider.unwrap(epoch, wrapped, BOUND) == b"secret"


async def test_a_destroyed_epoch_is_gone(provider: Provider) -> None:
    """It opens and wraps nothing any more, is not listed, may be destroyed again; the others stay."""
    gone, kept = uuid4(), uuid4()
    await provider.new_epoch(gone)
    await provider.new_epoch(kept)
    wrapped = await provider.wrap(gone, b"secret", BOUND)
    assert await provider.list_epochs() == {gone, kept}
    for _ in range(2):
        await provider.destroy_epoch(gone)
        assert await provider.list_epochs() == {kept}
        with pytest.raises(EpochGoneError):
            await provider.unwrap(gone, wrapped, BOUND)
        with pytest.raises(EpochGoneError):
            await provider.wrap(gone, b"secret", BOUND)
    assert await provider.unwrap(kept, await provider.wrap(kept, b"s", BOUND), BOUND) == b"s"


async def test_an_unknown_epoch_is_gone(provider: Provider) -> None:
    """An epoch nobody made is none."""
    with pytest.raises(EpochGoneError):
        await provider.wrap(uuid4(), b"secret", BOUND)
    assert await provider.list_epochs() == frozenset()


async def test_a_vault_rolls_on_any_provider(provider: Provider, tmp_path: Path) -> None:
    """A vault on it rolls: what was destroyed stays destroyed, the rest opens, one epoch is left."""
    async with vaulted(tmp_path / "data", provider) as keys:
        scope = await keys.person()
        victim, kept = await keys.lease(scope, 2)
        await keys.destroy(scope, victim)
        await keys.roller.roll()
        assert await keys.opens(scope, [kept])
        assert (await keys.vault.present(ids([victim, kept]))) == {kept.key_id}
        assert len(await provider.list_epochs()) == 1


# ── the folder of files ──────────────────────────────────────────────────────────────────────────────────────────────


def file_of(folder: Path, epoch: UUID) -> Path:
    return folder / f"epoch-{epoch}.key"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_files_are_private_and_whole(tmp_path: Path) -> None:
    """A secret lies in a file of mode 0600 in a folder of mode 0700, and no half-written one beside it."""
    folder, epoch = tmp_path / "a" / "keys", uuid4()
    await FileProvider(folder).new_epoch(epoch)
    (path,) = folder.iterdir()
    assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert path.stat().st_size == 32


async def test_a_destroyed_file_is_overwritten_first(tmp_path: Path) -> None:
    """Whoever still holds the file open, or another name of it, reads zeros."""
    provider, epoch = FileProvider(tmp_path), uuid4()
    await provider.new_epoch(epoch)
    path = file_of(tmp_path, epoch)
    left = path.with_name(f".{path.name}.4711")  # of a writer that was killed between link and unlink
    left.hardlink_to(path)
    with path.open("rb", buffering=0) as held:
        await provider.destroy_epoch(epoch)
        assert held.read() == bytes(32)
    assert names(tmp_path) == []


async def test_a_file_that_is_being_destroyed_counts_as_gone(tmp_path: Path) -> None:
    """Between overwriting and unlinking the epoch is gone already, and never taken for a wrong secret."""
    provider, epoch = FileProvider(tmp_path), uuid4()
    await provider.new_epoch(epoch)
    path = file_of(tmp_path, epoch)
    path.write_bytes(bytes(32))
    with pytest.raises(EpochGoneError):
        await provider.wrap(epoch, b"secret", BOUND)


def test_a_folder_that_is_away_is_not_taken_for_destroyed(tmp_path: Path) -> None:
    """Where the folder is not mounted the secret may still exist: destroying says so."""
    with pytest.raises(SecretError, match="cannot be destroyed"):
        destroy(tmp_path / "away" / "epoch.key")


async def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """Where the folder should be lies a file: a new epoch is refused with its place."""
    (tmp_path / "keys").write_text("x")
    with pytest.raises(SecretError, match="keys"):
        await FileProvider(tmp_path / "keys").new_epoch(uuid4())
