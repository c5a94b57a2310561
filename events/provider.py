"""Where the top of the key hierarchy lies: outside both databases."""

from pathlib import Path
from typing import Protocol
from uuid import UUID

from events.errors import CenotaphError
from events.keyfile import key_file


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
        return key_file(self._path(epoch_id))

    def secret(self, epoch_id: UUID) -> bytes:
        """Return the secret of an epoch.

        Raises:
            CenotaphError: the epoch's secret is gone.
        """
        try:
            return self._path(epoch_id).read_bytes()
        except FileNotFoundError as error:
            raise CenotaphError(
                f"the key of epoch {epoch_id} is not with the provider; restore the key folder"
            ) from error

    def _path(self, epoch_id: UUID) -> Path:
        return self._folder / f"epoch-{epoch_id}.key"
