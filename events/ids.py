"""Ids as the database driver makes them: a subclass of `uuid.UUID` in C, several times faster to read and to hash."""

from hashlib import sha1
from typing import cast
from uuid import UUID

try:
    from asyncpg.pgproto.pgproto import UUID as _made  # noqa: N811 - used as the function that makes one
except ImportError:  # a bundle is checked where there is no driver

    def _made(value: str | bytes) -> UUID:
        return UUID(value) if isinstance(value, str) else UUID(bytes=value)


def read_id(text: str) -> UUID:
    """Read the text of an id.

    Raises:
        ValueError: it is none.
    """
    return cast("UUID", _made(text))


def derived_id(namespace: UUID, name: str) -> UUID:
    """Derive an id from another and a name (RFC 9562 §5.5, version 5)."""
    digest = bytearray(sha1(namespace.bytes + name.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    return cast("UUID", _made(bytes(digest)))
