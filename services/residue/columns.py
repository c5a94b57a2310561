"""Values of columnar files (Parquet, Arrow) and members of archives, decoded by their maintained readers."""

import gzip
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

_PARQUET, _ARROW, _ZIP, _GZIP = b"PAR1", b"ARROW1", b"PK\x03\x04", b"\x1f\x8b"
_STREAM: Final = ".arrow"
_MAGIC = 6
_BREAK = b"\x00"


def tables(path: Path) -> Iterator[pa.Table]:
    """Read a columnar file; nothing of a file that is none.

    Raises:
        pa.ArrowInvalid: it is cut off or damaged.
    """
    with path.open("rb") as file:
        magic = file.read(_MAGIC)
    if magic.startswith(_PARQUET):
        yield pyarrow.parquet.read_table(path)
    elif magic == _ARROW:
        with pa.memory_map(str(path)) as source:
            yield pa.ipc.open_file(source).read_all()
    elif path.suffix == _STREAM and magic:
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
            for batch in stream:
                yield pa.Table.from_batches([batch])


def values(table: pa.Table) -> Iterator[bytes]:
    """Return what each column holds, its values one after the other; vectors as the float32 they are."""
    for column in table.columns:
        if _is_vector(column.type):
            flat = column.combine_chunks().flatten()
            yield np.asarray(flat.to_numpy(zero_copy_only=False), dtype="<f4").tobytes()
        else:
            given = (value for value in column.to_pylist() if value is not None)
            yield _BREAK.join(value if isinstance(value, bytes) else str(value).encode() for value in given)


def rows_with_vector(table: pa.Table) -> set[str]:
    """Return the ids, in whichever column of text, of rows that have a vector."""
    vectors = [column for column in table.columns if _is_vector(column.type)]
    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    return {
        text
        for vector in vectors
        for column in texts
        for text, there in zip(column.to_pylist(), vector.is_valid().to_pylist(), strict=True)
        if there and text is not None
    }


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Unpack an archive: zip with each member, gzip as one; nothing of a file that is none.

    Raises:
        zipfile.BadZipFile: it is damaged.
        OSError: as above, or it cannot be read.
    """
    with path.open("rb") as file:
        magic = file.read(_MAGIC)
    if magic.startswith(_ZIP):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield name, archive.read(name)
    elif magic.startswith(_GZIP):
        with gzip.open(path) as packed:
            yield "", packed.read()


def _is_vector(kind: pa.DataType) -> bool:
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(lists and pa.types.is_floating(kind.value_type))
