"""Canonical bytes of an envelope: what a leaf commits to, for ever.

Layout: canonical JSON (UTF-8, keys sorted, no blanks, no floats) ‖ stream version, int64 big-endian ‖ recorded_at,
microseconds since 1970 UTC, int64 big-endian. `append_v1` writes the trailer, because only the database knows both.
"""

import struct
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson

from events.errors import TamperError

_TRAILER = struct.Struct(">qq")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode(document: dict[str, Any]) -> bytes:
    """Encode the writer's half. Datetimes become RFC 3339 with the offset they have, ids become text."""
    return orjson.dumps(document, default=_driver_id, option=orjson.OPT_SORT_KEYS | orjson.OPT_UTC_Z)


def _driver_id(value: object) -> str:
    """Write ids as the database driver returns them: a subclass of UUID, which orjson does not take."""
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no canonical form")


def trailer(version: int, recorded_at: datetime) -> bytes:
    """Encode the database's half."""
    return _TRAILER.pack(version, (recorded_at - _EPOCH) // timedelta(microseconds=1))


def decode(envelope: bytes) -> tuple[dict[str, Any], int, datetime]:
    """Split canonical bytes into document, stream version and recorded_at.

    Raises:
        TamperError: the bytes are not an envelope.
    """
    try:
        document = orjson.loads(envelope[: -_TRAILER.size])
        version, micros = _TRAILER.unpack(envelope[-_TRAILER.size :])
        return document, version, _EPOCH + timedelta(microseconds=micros)
    except (orjson.JSONDecodeError, struct.error, OverflowError) as error:
        raise TamperError("an envelope cannot be decoded") from error
