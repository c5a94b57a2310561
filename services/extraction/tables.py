"""Rows of a table or a list that was pasted: lines of one shape, one below the other. Nobody speaks so. Pure."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

_ROWS: Final = 5  # as many lines of one shape are a table
_FIELDS: Final = 4  # of which each has so many words or numbers at least, a number among them
_LINE = re.compile(r"[^\n]+")
_SORTS = (("0", re.compile(r"\d+(?:[.,:/-]\d+)*")), ("a", re.compile(r"[A-Za-z]+")), ("w", re.compile(r"[㐀-鿿]+")))
_FIELD = re.compile(r"[0aw]")


def rows(text: str) -> Iterator[tuple[int, int]]:
    """Yield where rows of pasted tables begin and end, all that stand together at once."""
    lines = [(line.span(), shape_of(line.group())) for line in _LINE.finditer(text) if line.group().strip()]
    for shape, group in groupby(lines, key=lambda line: line[1]):
        spans = [span for span, _ in group]
        if len(spans) >= _ROWS and "0" in shape and len(_FIELD.findall(shape)) >= _FIELDS:
            yield spans[0][0], spans[-1][1]


def shape_of(line: str) -> str:
    """Return a line with each number as `0`, each Latin word as `a` and each run of Chinese as `w`."""
    shape = line.strip()
    for mark, run in _SORTS:
        shape = run.sub(mark, shape)
    return shape
