"""Files of every form, written by their own libraries: what lies in them is found; what does not decode is a doubt."""

import gzip
import zipfile
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.model import KeyId, Scope, SubjectId, TenantId
from services.residue.needle import Needle, sealed_body, vector_row, wrapped_key
from services.residue.packed import arrow, lzf, lzf_strings
from services.residue.search import search_files
from services.residue.tuples import PAGE, packed_values

WORD = Needle(text='琥珀 "amber"', name="word")


def forms(root: Path, *needles: Needle) -> set[tuple[str, str]]:
    search = search_files(root, needles)
    assert search.doubts == set()
    return {(find.place, find.form) for find in search.found}


def table(**columns: list[object]) -> pa.Table:
    return pa.table(columns)


@pytest.mark.parametrize(
    ("written", "form"),
    [
        (WORD.text.encode(), "utf-8"),
        (WORD.text.encode("utf-16-le"), "utf-16-le"),
        (b'{"content": "\\u7425\\u73c0 \\"amber\\""}', "json"),
        ('{"content": "琥珀 \\"amber\\""}'.encode(), "json, unescaped"),
    ],
)
def test_text_is_found_as_writers_write_it(tmp_path: Path, written: bytes, form: str) -> None:
    """In the encodings and escapes that writers use, also across the end of a piece that is read at once."""
    (tmp_path / "some.log").write_bytes(bytes((1 << 24) - 3) + written)
    assert forms(tmp_path, WORD) == {("some.log", form)}
    assert forms(tmp_path, Needle(text="墨痕竹影")) == set()


def test_archives_are_looked_into(tmp_path: Path) -> None:
    """A bundle and a rotated log hold it packed, and it is found."""
    with zipfile.ZipFile(tmp_path / "log.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("events.jsonl", WORD.text * 9)
    (tmp_path / "old.log.gz").write_bytes(gzip.compress(WORD.text.encode() * 9))
    assert forms(tmp_path, WORD) == {("log.zip", "member events.jsonl utf-8"), ("old.log.gz", "unpacked utf-8")}


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip", "lz4"])
def test_compressed_columns_are_decoded(tmp_path: Path, codec: str) -> None:
    """Words and vectors of a compressed file are found, and a row only where it has a vector."""
    kept, bare, vector = uuid4(), uuid4(), np.arange(384, dtype="<f4") / 384
    made = table(
        id=[kept.hex, bare.hex, "x"], vector=[vector.tolist(), None, [0.0] * 384], words=[WORD.text * 50, "", ""]
    )
    made = made.set_column(1, "vector", made["vector"].cast(pa.list_(pa.float32())))
    pyarrow.parquet.write_table(made, tmp_path / "data.parquet", compression=codec)
    needles = (WORD, vector_row(str(kept)), vector_row(str(bare)), Needle(raw=vector.tobytes(), name="vector"))
    search = search_files(tmp_path, needles)
    assert {find.needle for find in search.found} == {WORD, vector_row(str(kept)), needles[-1]}


def test_what_cannot_be_decoded_or_read_is_a_doubt(tmp_path: Path) -> None:
    """A cut or damaged file proves nothing, whatever its raw bytes say."""
    pyarrow.parquet.write_table(table(a=["x"]), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "log.zip").write_bytes(b"PK\x03\x04" + bytes(40))
    (tmp_path / "old.gz").write_bytes(gzip.compress(b"words")[:-4])
    search = search_files(tmp_path, [WORD])
    assert {doubt.place for doubt in search.doubts} == {"cut.parquet", "log.zip", "old.gz"}
    assert search.found == set()
    assert search.files == 4


def test_ids_that_stand_before_a_ciphertext_or_a_key_are_found(tmp_path: Path) -> None:
    """As a table's row has them and as a copy has them; the same ids in another order are no find."""
    scope = Scope(tenant_id=TenantId(uuid4()), subject_id=SubjectId(uuid4()))
    key = KeyId(uuid4())
    body, wrapped = sealed_body(scope, key, b"d" * 32), wrapped_key(scope, key)
    tenant, subject = scope.tenant_id.bytes, scope.subject_id.bytes
    (tmp_path / "fence").write_bytes(tenant + key.bytes + subject)
    assert forms(tmp_path, body, wrapped) == set()
    (tmp_path / "body").write_bytes(b"index" + tenant + subject + key.bytes + b"sealed")
    length = b"\x00\x00\x00\x10"
    (tmp_path / "keys.copy").write_bytes(length + key.bytes + length + tenant + length + subject)
    assert forms(tmp_path, body) == {("body", "row")}
    assert forms(tmp_path, wrapped) == {("keys.copy", "copied row")}


def test_a_value_that_postgres_packed_with_lz4_is_unpacked() -> None:
    """The server that is embedded here was built without LZ4, so the value is put together by hand (`varatt.h`)."""
    text = WORD.text.encode() * 40
    packed = pa.Codec("lz4_raw").compress(text, asbytes=True)
    value = ((len(packed) + 8) << 2 | 2).to_bytes(4, "little") + (1 << 30 | len(text)).to_bytes(4, "little") + packed
    page = bytearray(PAGE)
    page[4000 : 4000 + len(value)] = value
    assert list(packed_values(bytes(page))) == [text]


@given(st.binary(min_size=1, max_size=200), st.integers(3, 200))
def test_lzf_is_unpacked(literal: bytes, repeat: int) -> None:
    """Runs of literals and a reference back, as Redis writes them, come out as they went in; cut off, as nothing."""
    literal = literal[:32]
    out = bytes([len(literal) - 1]) + literal
    whole = literal
    while len(whole) < len(literal) + repeat:
        length = min(264, len(literal) + repeat - len(whole))
        if length < 3:
            break
        code = length - 2
        head = bytes([min(code, 7) << 5 | (len(literal) - 1) >> 8])
        out += head + (bytes([code - 7]) if code >= 7 else b"") + bytes([(len(literal) - 1) & 0xFF])
        whole += bytes(whole[-len(literal) + at % len(literal)] for at in range(length))
    assert lzf(out, len(whole)) == whole
    assert lzf(out[:-1], len(whole)) is None
    framed = b"\xc3" + bytes([0x80]) + len(out).to_bytes(4, "big") + bytes([0x80]) + len(whole).to_bytes(4, "big")
    if len(out) < len(whole):
        assert whole in list(lzf_strings(b"REDIS0011" + framed + out + b"\xff"))


def test_a_block_that_is_none_is_no_value() -> None:
    """Bytes that only look packed are passed by."""
    assert arrow("lz4_raw", b"\xff" * 30, 400) is None
    assert arrow("zstd", b"nothing", 40) is None
