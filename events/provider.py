"""Where the top of the key hierarchy lies: outside both databases."""

import asyncio
import re
from pathlib import Path
from typing import Protocol
from uuid import UUID

from events.envelope import decrypt, encrypt
from events.errors import EpochGoneError
from events.keyfile import SECRET_BYTES, destroy, key_file, read_secret

_DESTROYED = bytes(SECRET_BYTES)
_NAME = re.compile(r"epoch-([0-9a-f-]{36})\.key")


class Provider(Protocol):
    """Keeps one secret for each epoch and wraps tenants' keys with it. A KMS can stand here; the default is a folder.

    The secret never has to leave the provider. Nothing here is cached: whoever asks gets the provider's present answer.
    """

    async def new_epoch(self, epoch_id: UUID) -> None:
        """Make and keep the secret of an epoch, durable when this returns; one that exists stays as it is.

        Raises:
            SecretError: it cannot be kept.
        """

    async def wrap(self, epoch_id: UUID, secret: bytes, bound: bytes) -> bytes:
        """Seal a secret under an epoch, bound to associated data.

        Raises:
            EpochGoneError: the epoch's secret is gone or was never here.
            SecretError: the provider cannot use it.
        """

    async def unwrap(self, epoch_id: UUID, wrapped: bytes, bound: bytes) -> bytes:
        """Open what `wrap` sealed.

        Raises:
            EpochGoneError: the epoch's secret is gone or was never here.
            SecretError: the provider cannot use it.
            TamperError: it was not sealed under this epoch, or is bound to something else.
        """

    async def destroy_epoch(self, epoch_id: UUID) -> None:
        """Destroy an epoch's secret for good; one that is gone already stays gone.

        Raises:
            SecretError: it may still be there.
        """

    async def list_epochs(self) -> frozenset[UUID]:
        """Say which epochs the provider holds a secret of."""


class FileProvider:
    """One file of 32 bytes an epoch, mode 0600, in a folder of mode 0700; AES-256-GCM (NIST SP 800-38D).

    Args:
        folder: where the files lie; on another machine than both databases where that matters.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[UUID, Path] = {}

    async def new_epoch(self, epoch_id: UUID) -> None:
        """Make and keep the secret of an epoch; one that exists stays as it is."""
        await asyncio.to_thread(key_file, self._path(epoch_id))

    async def wrap(self, epoch_id: UUID, secret: bytes, bound: bytes) -> bytes:
        """Seal a secret under an epoch, bound to associated data."""
        return encrypt(self._secret(epoch_id), secret, bound)

    async def unwrap(self, epoch_id: UUID, wrapped: bytes, bound: bytes) -> bytes:
        """Open what `wrap` sealed."""
        return decrypt(self._secret(epoch_id), wrapped, bound)

    async def destroy_epoch(self, epoch_id: UUID) -> None:
        """Overwrite and unlink an epoch's file."""
        await asyncio.to_thread(destroy, self._path(epoch_id))

    async def list_epochs(self) -> frozenset[UUID]:
        """Say which epochs have a file."""
        names = [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []
        return frozenset(UUID(match[1]) for name in names if (match := _NAME.fullmatch(name)))

    def _secret(self, epoch_id: UUID) -> bytes:
        try:
            secret = read_secret(self._path(epoch_id))
        except FileNotFoundError:
            secret = _DESTROYED
        if secret == _DESTROYED:  # also a file that is just being destroyed
            raise EpochGoneError(f"the key of epoch {epoch_id} is not with the provider; restore the key folder")
        return secret

    def _path(self, epoch_id: UUID) -> Path:
        path = self._paths.get(epoch_id)  # asked for with each request, and slow to put together
        if path is None:
            path = self._paths[epoch_id] = self._folder / f"epoch-{epoch_id}.key"
        return path
