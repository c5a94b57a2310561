"""A second place: named things outside the database, each written once. A folder, or object storage in its stead."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from events.keyfile import write_once


class Place(Protocol):
    """Keeps what must not depend on the database. Names are `kind/name`; what is there is never changed."""

    def put(self, name: str, content: bytes) -> bool:
        """Write a thing, durable when this returns; False if there is one of that name already, which stays."""

    def get(self, name: str) -> bytes | None:
        """Read a thing."""

    def names(self, kind: str) -> Iterator[str]:
        """Name all things of a kind, in order."""


class Folder:
    """A folder of files of mode 0600 in folders of mode 0700.

    Args:
        path: the folder; made on first use.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def put(self, name: str, content: bytes) -> bool:
        """Write a file, durable when this returns; False if there is one already, which stays."""
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return write_once(self._path / name, content)

    def get(self, name: str) -> bytes | None:
        """Read a file."""
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            return None

    def names(self, kind: str) -> Iterator[str]:
        """Name all files of a kind, in order, without those that were being written when a process died."""
        folder = self._path / kind
        names = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
        return (f"{kind}/{name}" for name in names if not name.startswith("."))


class Below:
    """A part of a place that looks like a place of its own.

    Args:
        place: the whole.
        prefix: what all names of the part begin with.
    """

    def __init__(self, place: Place, prefix: str) -> None:
        self._place = place
        self._prefix = prefix

    def put(self, name: str, content: bytes) -> bool:
        """Write a thing, durable when this returns; False if there is one already, which stays."""
        return self._place.put(f"{self._prefix}/{name}", content)

    def get(self, name: str) -> bytes | None:
        """Read a thing."""
        return self._place.get(f"{self._prefix}/{name}")

    def names(self, kind: str) -> Iterator[str]:
        """Name all things of a kind, in order."""
        return (name.removeprefix(f"{self._prefix}/") for name in self._place.names(f"{self._prefix}/{kind}"))
