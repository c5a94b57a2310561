"""Where the top of the key hierarchy lies: outside both databases."""

import os
from pathlib import Path
from typing import Protocol
from uuid import UUID

from events.errors import CenotaphError


class Provider(Protocol):
    """Keeps one 256-bit secret for each epoch. A KMS can stand here; the default is a folder of files."""

    def create(self, epoch_id: UUID) -> bytes:
        """Make and keep the secret of a new epoch."""

    def secret(self, epoch_id: UUID) -> bytes:
        """Return the secret of an epoch.

        Raises:
            CenotaphError: the epoch's secret is gone.
        """


class FileProvider:
    """One file of 32 bytes an epoch, mode 0600, in a folder of mode 0700."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self, epoch_id: UUID) -> bytes:
        """Make and keep the secret of a new epoch, durable before it is used."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        secret = os.urandom(32)
        handle = os.open(self._path(epoch_id), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, secret)
            os.fsync(handle)
        finally:
            os.close(handle)
        return secret

    def secret(self, epoch_id: UUID) -> bytes:
        """Return the secret of an epoch.

        Raises:
            CenotaphError: the epoch's secret is gone.
        """
        try:
            return self._path(epoch_id).read_bytes()
        except FileNotFoundError as error:
            raise CenotaphError(f"the key of epoch {epoch_id} is not with the provider; restore the key folder") from error

    def _path(self, epoch_id: UUID) -> Path:
        return self._folder / f"epoch-{epoch_id}.key"
