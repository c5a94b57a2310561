"""Rows as PostgreSQL's binary COPY writes them, read and written one by one.

A file is a signature, flags and an extension length (int32 each), then for each row the number of fields (int16) and
for each field its length (int32, -1 for null) and its bytes, then -1 (int16); all big-endian.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from events.errors import BadInputError

HEADER: Final = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
TRAILER: Final = b"\xff\xff"

Field = bytes | None
Row = tuple[Field, ...]

_COUNT = struct.Struct(">h")
_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)
_END = -1
_CHUNK = 1 << 20


def encode(row: Sequence[Field]) -> bytes:
    """Write one row."""
    fields = (_NULL if field is None else _LENGTH.pack(len(field)) + field for field in row)
    return _COUNT.pack(len(row)) + b"".join(fields)


def rows_of(path: Path) -> Iterator[Row]:
    """Read every row of a file.

    Raises:
        BadInputError: it is cut off, or is no such file.
    """
    with path.open("rb", buffering=_CHUNK) as file:
        if file.read(len(HEADER)) != HEADER:
            raise BadInputError(f"{path.name} is no copy of a table")
        while (count := _COUNT.unpack(_take(file, _COUNT.size, path))[0]) != _END:
            yield tuple(_field(file, path) for _ in range(count))
        if file.read(1):
            raise BadInputError(f"{path.name} goes on behind its end")


def written(rows: Iterable[Row]) -> Iterator[bytes]:
    """Write rows as a whole file, in pieces."""
    piece = bytearray(HEADER)
    for row in rows:
        piece += encode(row)
        if len(piece) >= _CHUNK:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece + TRAILER)


def _field(file: BinaryIO, path: Path) -> Field:
    (length,) = _LENGTH.unpack(_take(file, _LENGTH.size, path))
    return None if length < 0 else _take(file, length, path)


def _take(file: BinaryIO, size: int, path: Path) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise BadInputError(f"{path.name} is cut off")
    return data
