"""Values inside heap pages of Postgres: compressed ones, and long ones that lie in pieces (TOAST).

Pages are searched by what a value looks like, not by their item pointers: what was deleted or pruned has none left and
lies there all the same. Whatever looks like a value and is none only costs time.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from services.residue.packed import EXPANSION, unpacked

PAGE: Final = 8192

_ALIGN = 8  # of tuples; values inside are aligned to four bytes
_WORD = 4
_COMPRESSED, _PLAIN = 2, 0  # the lowest two bits of a length word on a little-endian machine
_HEAD = 8  # the length word, and the word with method and size
_SIZE = 0x3FFF_FFFF
_METHODS = 2
_TOAST_COLUMNS, _COLUMNS = 3, 0x07FF
_TOAST_START = 24
_LONGEST_PIECE = 1996 * 4
_MOST_PIECES = 1 << 20


class Pieces:
    """Collects the pieces of long values over all pages of a table, and puts them together."""

    def __init__(self) -> None:
        self._found: defaultdict[int, dict[int, bytes]] = defaultdict(dict)

    def add(self, data: bytes, page: int | None = PAGE) -> None:
        """Take every row of a TOAST table in some pages, living or dead; `page` is None where nothing ends at pages."""
        size = len(data)
        if size < _TOAST_START + 2 * _ALIGN:
            return
        raw = np.frombuffer(data, np.uint8)
        at = np.arange(0, size - _TOAST_START - 2 * _ALIGN + 1, _ALIGN)
        columns = raw[at + 18].astype(np.uint16) | raw[at + 19].astype(np.uint16) << 8
        for start in at[((columns & _COLUMNS) == _TOAST_COLUMNS) & (raw[at + 22] == _TOAST_START)].tolist():
            self._take(data, start, size if page is None else (start // page + 1) * page)

    def _take(self, data: bytes, start: int, end: int) -> None:
        value, number, head = (int.from_bytes(data[start + at : start + at + 4], "little") for at in (24, 28, 32))
        if head & 1:
            begin, length = start + 33, (head & 0xFF) // 2 - 1
        elif head & 3 == _PLAIN:
            begin, length = start + 36, (head >> 2) - _WORD
        else:
            return
        if 0 < length <= _LONGEST_PIECE and begin + length <= end and number < _MOST_PIECES:
            self._found[value][number] = data[begin : begin + length]

    def values(self) -> Iterator[bytes]:
        """Put together what belongs together; of a value that lacks a piece every run there is. Unpacks packed ones."""
        for pieces in self._found.values():
            run: list[bytes] = []
            last = None
            for number in sorted(pieces):
                if last is not None and number != last + 1:
                    yield from _whole(b"".join(run))
                    run = []
                run.append(pieces[number])
                last = number
            yield from _whole(b"".join(run))


def packed_values(data: bytes, page: int | None = PAGE) -> Iterator[bytes]:
    """Unpack every compressed value that lies within a row."""
    words: NDArray[np.uint32] = np.frombuffer(data[: len(data) // _WORD * _WORD], "<u4")
    if len(words) < _HEAD // _WORD:
        return
    heads, sizes = words[:-1], words[1:]
    lengths, raw = heads >> 2, sizes & _SIZE
    looks = (
        ((heads & 3) == _COMPRESSED)
        & (lengths > _HEAD)
        & (raw > lengths - _HEAD)
        & (raw <= lengths.astype(np.uint64) * EXPANSION)
        & ((sizes >> 30) < _METHODS)
    )
    for number in np.flatnonzero(looks).tolist():
        start, length = number * _WORD, int(lengths[number])
        end = len(data) if page is None else min(len(data), (start // page + 1) * page)
        if start + length <= end:
            found = unpacked(int(sizes[number]) >> 30, data[start + _HEAD : start + length], int(raw[number]))
            if found is not None:
                yield found


def _whole(value: bytes) -> Iterator[bytes]:
    yield value
    head = int.from_bytes(value[:_WORD], "little")
    size = head & _SIZE
    if len(value) - _WORD < size <= len(value) * EXPANSION and head >> 30 < _METHODS:
        found = unpacked(head >> 30, value[_WORD:], size)
        if found is not None:
            yield found
