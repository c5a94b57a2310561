"""Searching every file below a folder: its bytes as they are, and what compression or pages would hide (R43).

Parquet and Arrow are decoded by pyarrow, zip and gzip by the standard library. Pages, write-ahead log and snapshots
have no maintained reader in Python; theirs are here. What cannot be read or decoded is a doubt: it proves nothing.
"""

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Final

import pyarrow as pa

from services.residue.columns import members, rows_with_vector, tables, values
from services.residue.needle import Doubt, Find, Needle, forms_of
from services.residue.packed import lzf_strings
from services.residue.tuples import PAGE, Pieces, packed_values
from services.residue.wal import Segment, segments

_CHUNK: Final = 1 << 24  # a multiple of a page
_RELATION = re.compile(r"\d+(?:_[a-z]+)?(?:\.\d+)?")
_SEGMENT = re.compile(r"[0-9A-F]{24}(?:\.partial)?")
_TABLES = frozenset({"base", "global", "pg_tblspc"})
_LOG = "pg_wal"
_SNAPSHOTS = (b"REDIS", b"VALKEY")

Hits = Iterator[tuple[Needle, str]]


@dataclass
class Search:
    """What was looked at, what was found, and of what nothing is proven."""

    found: set[Find] = field(default_factory=set)
    doubts: set[Doubt] = field(default_factory=set)
    files: int = 0
    bytes: int = 0

    def below(self, folder: Path) -> "Search":
        """Say the same with places that begin at the root."""
        return Search(
            {Find(find.needle, str(folder / find.place), find.form) for find in self.found},
            {Doubt(str(folder / doubt.place), doubt.why) for doubt in self.doubts},
            self.files,
            self.bytes,
        )

    def __or__(self, other: "Search") -> "Search":
        return Search(
            self.found | other.found, self.doubts | other.doubts, self.files + other.files, self.bytes + other.bytes
        )


def search_files(root: Path, needles: Iterable[Needle]) -> Search:
    """Search every file below a folder, whatever it is called; a link is not followed.

    Args:
        root: the folder, or one file.
        needles: what to look for.
    """
    looking = _Looking(tuple(needles))
    paths = [root] if root.is_file() else sorted(path for path in root.rglob("*") if not path.is_symlink())
    search = Search()
    files = [path for path in paths if path.is_file()]
    for path in files:
        search.files += 1
        for views in (looking.plain, looking.snapshot, looking.columnar, looking.archived):
            _look(search, path, root, views)
    for _, group in groupby(filter(_is_segment, files), key=lambda path: path.parent):
        _look_together(search, list(group), root, looking.log)
    for _, group in groupby(sorted(filter(_is_relation, files), key=_relation), key=_relation):
        _look_together(search, list(group), root, looking.table)
    search.bytes = looking.bytes
    return search


class _Looking:
    """Looks for needles in whatever a file is made of.

    Args:
        needles: what to look for.
    """

    def __init__(self, needles: tuple[Needle, ...]) -> None:
        self._forms = forms_of(needles)
        self._digests = {needle.digest: needle for needle in needles if needle.digest}
        self._rows = {needle.row: needle for needle in needles if needle.row}
        self.bytes = 0
        self._overlap = max((len(raw) for _, _, raw in self._forms), default=1)

    def plain(self, path: Path) -> Hits:
        """Look at the bytes as they are."""
        with path.open("rb") as file:
            tail = b""
            while chunk := file.read(_CHUNK):
                self.bytes += len(chunk)
                window = tail + chunk
                yield from self._in(window, "")
                tail = window[-self._overlap :]

    def snapshot(self, path: Path) -> Hits:
        """Look into what Redis compressed."""
        with path.open("rb") as file:
            if not file.read(max(map(len, _SNAPSHOTS))).startswith(_SNAPSHOTS):
                return
        for value in lzf_strings(path.read_bytes()):
            yield from self._in(value, "unpacked ")

    def columnar(self, path: Path) -> Hits:
        """Look at the values of a columnar file, and at its rows."""
        for table in tables(path):
            for value in values(table):
                yield from self._in(value, "decoded ")
            if self._rows:
                yield from ((self._rows[row], "row") for row in rows_with_vector(table) & self._rows.keys())

    def archived(self, path: Path) -> Hits:
        """Look at the members of an archive."""
        for name, content in members(path):
            yield from self._in(content, f"member {name} " if name else "unpacked ")

    def log(self, paths: list[Path]) -> Iterator[tuple[Path, Hits]]:
        """Look at the write-ahead log of a cluster: between page headers, in page images, in rows."""
        for path, segment in segments(paths):
            yield path, self._segment(segment)

    def table(self, paths: list[Path]) -> Iterator[tuple[Path, Hits]]:
        """Look at the pages of a table, all of whose files are given."""
        pieces = Pieces()
        for path in paths:
            yield path, self._pages(path, pieces)
        yield paths[0], (hit for value in pieces.values() for hit in self._value(value, "put together "))

    def _segment(self, segment: Segment) -> Hits:
        yield from self._in(segment.stream, "between pages ")
        pieces = Pieces()
        for data, page in ((segment.images, PAGE), (segment.rows, None)):
            yield from self._in(data, "in a page image " if page else "in a row ")
            pieces.add(data, page)
            for value in packed_values(data, page):
                yield from self._value(value, "unpacked ")
        for value in pieces.values():
            yield from self._value(value, "put together ")
        if segment.undecoded:
            raise ValueError(f"{segment.undecoded} records do not decode")

    def _pages(self, path: Path, pieces: Pieces) -> Hits:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                pieces.add(chunk)
                for value in packed_values(chunk):
                    yield from self._value(value, "unpacked ")

    def _value(self, value: bytes, how: str) -> Hits:
        yield from self._in(value, how)
        if self._digests and (needle := self._digests.get(sha256(value).digest())) is not None:
            yield needle, f"{how}digest"

    def _in(self, data: bytes, how: str) -> Hits:
        yield from ((needle, f"{how}{name}") for needle, name, raw in self._forms if raw in data)


def _look(search: Search, path: Path, root: Path, views: Callable[[Path], Hits]) -> None:
    place = _place(path, root)
    with _Doubting(search, place):
        search.found.update(Find(needle, place, form) for needle, form in views(path))


def _look_together(
    search: Search, paths: list[Path], root: Path, views: Callable[[list[Path]], Iterator[tuple[Path, Hits]]]
) -> None:
    with _Doubting(search, _place(paths[0].parent, root)):
        for path, hits in views(paths):
            place = _place(path, root)
            with _Doubting(search, place):
                search.found.update(Find(needle, place, form) for needle, form in hits)


class _Doubting:
    """Turns what keeps a file from being read or decoded into a doubt; a file that is gone meanwhile holds nothing."""

    def __init__(self, search: Search, place: str) -> None:
        self._search = search
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, FileNotFoundError):
            return True
        if isinstance(error, pa.ArrowInvalid | zipfile.BadZipFile | zlib.error | EOFError | ValueError):
            self._search.doubts.add(Doubt(self._place, "cannot be decoded"))
            return True
        if isinstance(error, OSError):
            self._search.doubts.add(Doubt(self._place, f"cannot be read: {error.strerror or type(error).__name__}"))
            return True
        return False


def _place(path: Path, root: Path) -> str:
    return path.name if path == root else str(path.relative_to(root))


def _is_segment(path: Path) -> bool:
    return path.parent.name == _LOG and _SEGMENT.fullmatch(path.name) is not None


def _is_relation(path: Path) -> bool:
    return not _TABLES.isdisjoint(path.parts) and _RELATION.fullmatch(path.name) is not None


def _relation(path: Path) -> tuple[str, str]:
    return str(path.parent), path.name.partition(".")[0]
