"""Looking for a needle in every file of every store, and in every table: raw bytes, and what compression would hide."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from events.postgres import Connection

ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
_CHUNK = 1 << 24


@dataclass(frozen=True)
class Needle:
    """Something that must not be found: a text, or bytes such as a ciphertext."""

    text: str = ""
    raw: bytes = b""

    def forms(self) -> dict[str, bytes]:
        """Return the byte strings it may lie in a file as. JSON escapes count: a producer may have written them."""
        if self.raw:
            return {"bytes": self.raw, "hex": self.raw.hex().encode()}
        forms = {encoding: self.text.encode(encoding) for encoding in ENCODINGS}
        if not self.text.isascii():
            forms["json"] = self.text.encode("ascii", "backslashreplace")
        return forms


@dataclass(frozen=True)
class Find:
    """Which needle was found where: a file below the root, or a table; and in which form."""

    needle: Needle
    place: str
    form: str


Form = tuple[Needle, str, bytes]


def _forms(needles: Iterable[Needle]) -> list[Form]:
    return [(needle, name, raw) for needle in needles for name, raw in needle.forms().items()]


def search_files(root: Path, needles: Iterable[Needle]) -> set[Find]:
    """Search every file below a folder, whatever it is called."""
    forms = _forms(needles)
    found = set()
    for path in sorted(root.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        place = str(path.relative_to(root))
        found |= {Find(needle, place, name) for needle, name, _ in _raw(path, forms)}
        found |= {Find(needle, place, f"decoded {name}") for needle, name, _ in _decoded(path, forms)}
    return found


def _raw(path: Path, forms: list[Form]) -> Iterator[Form]:
    overlap = max(len(raw) for _, _, raw in forms)
    try:
        file = path.open("rb")
    except FileNotFoundError:  # a live server removes files while we look
        return
    with file:
        tail = b""
        while chunk := file.read(_CHUNK):
            window = tail + chunk
            yield from (form for form in forms if form[2] in window)
            tail = window[-overlap:]


def _decoded(path: Path, forms: list[Form]) -> Iterator[Form]:
    for value in _values(path):
        raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
        yield from (form for form in forms if form[2] in raw)


def _values(path: Path) -> Iterator[Any]:
    """Yield every value of a columnar file; nothing for other files, and what can be read of an unfinished one."""
    try:
        with path.open("rb") as file:
            magic = file.read(6)
        if magic.startswith(b"PAR1"):
            yield from _flat(pyarrow.parquet.read_table(path))
        elif magic == b"ARROW1":
            with pa.memory_map(str(path)) as source:
                yield from _flat(pa.ipc.open_file(source).read_all())
        elif path.suffix == ".arrow":
            with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
                for batch in stream:
                    yield from _flat(pa.Table.from_batches([batch]))
    except (pa.ArrowInvalid, OSError):  # a live server is writing it; its raw bytes were searched
        return


def _flat(table: pa.Table) -> Iterator[Any]:
    for column in table.columns:
        yield from (value for value in column.to_pylist() if value is not None)


async def search_tables(connection: Connection, needles: Iterable[Needle]) -> set[Find]:
    """Search every row of every table of a database, also of the catalogue, which holds statistics of the columns."""
    forms = _forms(needles)
    tables = await connection.fetch(
        "select format('%I.%I', schemaname, tablename) as name from pg_tables union all"
        " select 'pg_catalog.pg_stats' union all select 'pg_catalog.pg_stat_activity'"
    )
    found = set()
    for table in tables:
        for row in await connection.fetch(f"select t::text as row from {table['name']} t"):  # noqa: S608 - names of the catalogue
            raw = row["row"].encode()
            found |= {
                Find(needle, table["name"], name)
                for needle, name, form in forms
                if form in raw or (b"\\x" in raw and form.hex().encode() in raw)
            }
    return found
