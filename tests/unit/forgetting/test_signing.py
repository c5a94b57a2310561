"""Signatures of requests to other applications, and what may name a place in their stores."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from services.forgetting.foreign.signing import RequestSigner, verified
from services.forgetting.foreign.stores import PostgresTable, RedisKeys

URL = "https://app.example.org/memory/erase"


def test_a_signature_holds_for_one_body_one_target_and_one_key(tmp_path: Path) -> None:
    """Another byte, address, key or time, and a missing header, all fail."""
    signer, other = RequestSigner(tmp_path / "one"), RequestSigner(tmp_path / "other")
    headers = {name.lower(): value for name, value in signer.headers(URL, b"{}", 1_700_000_000).items()}
    assert verified(URL, b"{}", headers, signer.public)
    assert not verified(URL, b"{ }", headers, signer.public)
    assert not verified(URL.replace("erase", "probe"), b"{}", headers, signer.public)
    assert not verified(URL, b"{}", headers, other.public)
    late = headers | {"signature-input": headers["signature-input"].replace("1700000000", "1700000001")}
    assert not verified(URL, b"{}", late, signer.public)
    for name in headers:
        assert not verified(URL, b"{}", {key: value for key, value in headers.items() if key != name}, signer.public)
    assert (tmp_path / "one" / "layers.pub").read_text(encoding="ascii").strip() == signer.public


@pytest.mark.parametrize("name", ["a b", 'a"; drop table x', "a.b.c", "", "1a", "张"])
def test_a_table_is_named_by_plain_names(name: str) -> None:
    """What is no plain name never gets into a statement."""
    for field in ("table", "id_column", "subject_column", "text_column"):
        with pytest.raises(ValidationError):
            PostgresTable.model_validate({"table": "t", field: name})


@pytest.mark.parametrize("pattern", ["mem:*", "mem:{memory}:{user}", "{subject}:*"])
def test_a_pattern_names_the_memory_and_nothing_unknown(pattern: str) -> None:
    """A pattern that would match every memory, or whose mark nobody fills, is refused."""
    with pytest.raises(ValidationError):
        RedisKeys(pattern=pattern)
