"""Compressed pieces inside files of Postgres and Redis: pglz, LZ4, LZF. LZ4 and Zstandard are decoded by pyarrow."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

PGLZ: Final = 0
LZ4: Final = 1
EXPANSION: Final = 256
"""No byte of PGLZ, LZ4 or LZF stands for more."""

_HISTORY_MAX = 0x0FFF
_LZF_MARK = b"\xc3"
_SIX_BITS, _FOURTEEN_BITS, _WORD = 0, 1, 0x80
_PGLZ_LONG = 18


def unpacked(method: int, data: bytes, size: int) -> bytes | None:
    """Unpack a compressed value of Postgres (`toast_compression.h`); None where the bytes are none."""
    if method == PGLZ:
        return pglz(data, size)
    return arrow("lz4_raw", data, size) if method == LZ4 else None


def arrow(codec: str, data: bytes, size: int) -> bytes | None:
    """Unpack a block with one of pyarrow's codecs; None where the bytes are none."""
    try:
        found: bytes = pa.Codec(codec).decompress(data, decompressed_size=size, asbytes=True)
    except (OSError, pa.ArrowException):
        return None
    return found if len(found) == size else None


def pglz(data: bytes, size: int) -> bytes | None:
    """Unpack PGLZ (`pg_lzcompress.c`): a control byte, then eight literals or references, lowest bit first."""
    if not data or data[0] & 1:  # there is nothing yet to refer to
        return None
    out = bytearray()
    at, end = 0, len(data)
    while at < end and len(out) < size:
        control = data[at]
        at += 1
        for bit in range(8):
            if at >= end or len(out) >= size:
                break
            if not control >> bit & 1:
                out.append(data[at])
                at += 1
                continue
            if at + 2 > end:
                return None
            length = (data[at] & 0x0F) + 3
            offset = (data[at] & 0xF0) << 4 | data[at + 1]
            at += 2
            if length == _PGLZ_LONG:
                if at >= end:
                    return None
                length += data[at]
                at += 1
            if not 0 < offset <= min(len(out), _HISTORY_MAX):
                return None
            _repeat(out, offset, min(length, size - len(out)))
    return bytes(out) if len(out) == size and at == end else None


def lzf_strings(data: bytes) -> Iterator[bytes]:
    """Unpack every string that Redis compressed into a snapshot (`rdb.c`): a mark, both lengths, then LZF."""
    at = data.find(_LZF_MARK)
    while at >= 0:
        packed = _length(data, at + 1)
        size = _length(data, packed[1]) if packed else None
        if packed and size and 0 < packed[0] < size[0] <= packed[0] * EXPANSION and size[1] + packed[0] <= len(data):
            found = lzf(data[size[1] : size[1] + packed[0]], size[0])
            if found is not None:
                yield found
        at = data.find(_LZF_MARK, at + 1)


def lzf(data: bytes, size: int) -> bytes | None:
    """Unpack LZF (`lzf_d.c`): runs of literals, references of three bytes and more; None where the bytes are none."""
    out = bytearray()
    at, end = 0, len(data)
    while at < end:
        control = data[at]
        at += 1
        if control < 1 << 5:
            run = control + 1
            if at + run > end or len(out) + run > size:
                return None
            out += data[at : at + run]
            at += run
            continue
        length = control >> 5
        if length == 7:  # noqa: PLR2004 - three bits that are full say that a byte follows
            if at >= end:
                return None
            length += data[at]
            at += 1
        if at >= end:
            return None
        offset = ((control & 0x1F) << 8 | data[at]) + 1
        at += 1
        if offset > len(out) or len(out) + length + 2 > size:
            return None
        _repeat(out, offset, length + 2)
    return bytes(out) if len(out) == size else None


def _repeat(out: bytearray, offset: int, length: int) -> None:
    """Append what lies that far back; it may reach into what is being appended."""
    while length > 0:
        piece = out[len(out) - offset :][:length]
        out += piece
        length -= len(piece)


def _length(data: bytes, at: int) -> tuple[int, int] | None:
    """Read a length of a snapshot; return it and where it ends."""
    if at >= len(data):
        return None
    first = data[at]
    if first >> 6 == _SIX_BITS:
        return first, at + 1
    if first >> 6 == _FOURTEEN_BITS and at + 2 <= len(data):
        return (first & 0x3F) << 8 | data[at + 1], at + 2
    if first == _WORD and at + 5 <= len(data):
        return int.from_bytes(data[at + 1 : at + 5], "big"), at + 5
    return None
