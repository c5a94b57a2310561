"""Records of the write-ahead log: page images, and rows as they lie in a page (`xlogrecord.h`, `heapam_xlog.h`)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from services.residue.packed import PGLZ, arrow, unpacked
from services.residue.tuples import PAGE

HEAD: Final = struct.Struct("<IIQBBHI")
"""Length, transaction, previous record, info, resource manager, padding, CRC-32C."""

_BLOCK = struct.Struct("<BBH")
_IMAGE = struct.Struct("<HHB")
_MULTI = struct.Struct("<HHHB")
_MAX_BLOCK, _MAIN_SHORT, _MAIN_LONG, _ORIGIN, _TOP = 32, 255, 254, 253, 252
_HAS_IMAGE, _SAME_TABLE = 0x10, 0x80
_HAS_HOLE, _PGLZ_IMAGE, _LZ4_IMAGE, _ZSTD_IMAGE = 0x01, 0x04, 0x08, 0x10
_HEAP2, _HEAP, _LAST_MANAGER = 9, 10, 22
_OPERATION = 0x70
_INSERT, _UPDATE, _HOT_UPDATE, _MULTI_INSERT = 0x00, 0x20, 0x40, 0x50
_ROW_HEAD = bytes(18)  # a record keeps of a row's header what begins at its number of columns
_CRC_AT = 20
_CASTAGNOLI = 0x82F63B78


@dataclass(frozen=True, slots=True)
class _Image:
    """How a page was stored: so many bytes, with a gap left out somewhere, perhaps packed."""

    size: int
    hole: int
    gap: int
    packed: int


@dataclass(frozen=True, slots=True)
class _Block:
    """What a record holds of one page."""

    length: int
    image: _Image | None


def images_and_rows(record: bytes) -> tuple[list[bytes], list[bytes]]:
    """Take page images and rows out of a record.

    Raises:
        ValueError: its parts do not fit together, or an image does not unpack.
        struct.error: it is cut off.
    """
    _, _, _, info, manager, _, _ = HEAD.unpack_from(record)
    images: list[bytes] = []
    rows: list[bytes] = []
    blocks, at = _blocks(record)
    for block in blocks:
        if block.image is not None:
            images.append(_page(record[at : at + block.image.size], block.image))
            at += block.image.size
        rows += _rows(manager, info & _OPERATION, record[at : at + block.length])
        at += block.length
    return images, rows


def sound(record: bytes) -> bool:
    """Say whether the bytes are a record as it was written: CRC-32C over what follows the header, then its start."""
    manager, padding = HEAD.unpack_from(record)[4:6]
    if manager > _LAST_MANAGER or padding:
        return False
    crc = 0xFFFF_FFFF
    for byte in record[HEAD.size :] + record[:_CRC_AT]:
        crc = crc >> 8 ^ _crc_table()[(crc ^ byte) & 0xFF]
    return bool(crc ^ 0xFFFF_FFFF == HEAD.unpack_from(record)[-1])


def _blocks(record: bytes) -> tuple[list[_Block], int]:
    """Read what parts a record has; return them, and where the first begins."""
    blocks: list[_Block] = []
    at, promised = HEAD.size, 0
    while len(record) - at > promised:
        what = record[at]
        if what in {_MAIN_SHORT, _MAIN_LONG}:
            size = 1 if what == _MAIN_SHORT else 4
            promised += int.from_bytes(record[at + 1 : at + 1 + size], "little")
            at += 1 + size
            break
        if what in {_ORIGIN, _TOP}:
            at += 3 if what == _ORIGIN else 5
            continue
        block, at = _block(record, at)
        promised += block.length + (block.image.size if block.image else 0)
        blocks.append(block)
    if len(record) - at != promised:
        raise ValueError("the parts of a record do not fill it")
    return blocks, at


def _block(record: bytes, at: int) -> tuple[_Block, int]:
    number, flags, length = _BLOCK.unpack_from(record, at)
    if number > _MAX_BLOCK:
        raise ValueError("no such part of a record")
    at += _BLOCK.size
    image = None
    if flags & _HAS_IMAGE:
        size, hole, kind = _IMAGE.unpack_from(record, at)
        at += _IMAGE.size
        packed = kind & (_PGLZ_IMAGE | _LZ4_IMAGE | _ZSTD_IMAGE)
        gap = PAGE - size
        if packed:
            gap = int.from_bytes(record[at : at + 2], "little") if kind & _HAS_HOLE else 0
            at += 2 if kind & _HAS_HOLE else 0
        image = _Image(size, hole, gap, packed)
    return _Block(length, image), at + (0 if flags & _SAME_TABLE else 12) + 4


def _page(data: bytes, image: _Image) -> bytes:
    """Put a page together, without what its free space held."""
    if image.packed:
        size = PAGE - image.gap
        codec = "lz4_raw" if image.packed == _LZ4_IMAGE else "zstd"
        found = unpacked(PGLZ, data, size) if image.packed == _PGLZ_IMAGE else arrow(codec, data, size)
        if found is None:
            raise ValueError("a page image does not unpack")
        data = found
    return data[: image.hole] + bytes(image.gap) + data[image.hole :]


def _rows(manager: int, operation: int, data: bytes) -> Iterator[bytes]:
    if manager == _HEAP and operation == _INSERT:
        yield _ROW_HEAD + data
    elif manager == _HEAP and operation in {_UPDATE, _HOT_UPDATE}:
        # how much it shares with the old row, at its beginning and its end, stands before it in none to two numbers
        yield from (_ROW_HEAD + data[skip:] for skip in (0, 2, 4))
    elif manager == _HEAP2 and operation == _MULTI_INSERT:
        at = 0
        while at + _MULTI.size <= len(data):
            length, *_ = _MULTI.unpack_from(data, at)
            yield _ROW_HEAD + data[at + 2 : at + _MULTI.size + length]
            at += _MULTI.size + length
            at += at % 2


@cache
def _crc_table() -> tuple[int, ...]:
    def entry(value: int) -> int:
        for _ in range(8):
            value = value >> 1 ^ _CASTAGNOLI * (value & 1)
        return value

    return tuple(map(entry, range(256)))
