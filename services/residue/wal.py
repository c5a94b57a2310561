"""Write-ahead log of Postgres: its records without the page headers between them (`xlog_internal.h`)."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.residue.records import HEAD, images_and_rows, sound
from services.residue.tuples import PAGE

_SHORT, _LONG = 24, 40  # page headers
_LONG_HEADER = 0x02
_PAGE_HEAD = struct.Struct("<HHIQI")
_AHEAD = 1 << 22  # as far as a record may reach into the next file
_ALIGN = 8


@dataclass(frozen=True)
class Segment:
    """What one file of the log holds: its bytes without page headers, page images, and rows as they lie in a page."""

    stream: bytes
    images: bytes
    rows: bytes
    undecoded: int


def segments(paths: Sequence[Path]) -> Iterator[tuple[Path, Segment]]:
    """Read files that follow each other by name; a record may end in the next one."""
    for number, path in enumerate(paths):
        stream, starts = _stripped(path.read_bytes())
        more = b""
        if number + 1 < len(paths):
            with paths[number + 1].open("rb") as file:
                more, _ = _stripped(file.read(_AHEAD))
        yield path, _segment(stream, starts, more)


def _stripped(data: bytes) -> tuple[bytes, list[int]]:
    """Take the page headers out; return the rest, and where the first record of each page begins in it."""
    out = bytearray()
    starts = []
    for at in range(0, len(data), PAGE):
        page = data[at : at + PAGE]
        if len(page) < _LONG or page[:2] == b"\0\0":
            continue
        _, info, _, _, rest = _PAGE_HEAD.unpack_from(page)
        head = _LONG if info & _LONG_HEADER else _SHORT
        if (begin := -(-rest // _ALIGN) * _ALIGN) < len(page) - head:
            starts.append(len(out) + begin)
        out += page[head:]
    return bytes(out), starts


def _segment(stream: bytes, starts: Sequence[int], more: bytes) -> Segment:
    images, rows = bytearray(), bytearray()
    undecoded, at, whole = 0, 0, stream + more
    for start in starts:
        at = max(at, start)
        while at + HEAD.size <= len(stream):
            length = HEAD.unpack_from(whole, at)[0]
            if not HEAD.size <= length <= len(whole) - at:
                break  # the end, or what an older use of the file left; the next page says where it goes on
            record = whole[at : at + length]
            try:
                found = images_and_rows(record)
            except (struct.error, ValueError, IndexError):
                undecoded += sound(record)
                break
            images += b"".join(found[0])
            rows += b"".join(row + bytes(-len(row) % _ALIGN) for row in found[1])
            at += -(-length // _ALIGN) * _ALIGN
    return Segment(stream, bytes(images), bytes(rows), undecoded)
