from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events import canon
from events.errors import TamperError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.text(), JSON, max_size=6)
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive
VERSIONS = st.integers(1, 2**63 - 1)


@given(DOCUMENTS, VERSIONS, TIMES)
def test_what_is_encoded_comes_back(document: dict[str, object], version: int, at: datetime) -> None:
    """Document, version and time survive the round trip to the microsecond."""
    assert canon.decode(canon.encode(document) + canon.trailer(version, at)) == (document, version, at)


@given(DOCUMENTS)
def test_the_order_of_fields_does_not_matter(document: dict[str, object]) -> None:
    """Equal documents have equal bytes, and encoding what was decoded changes nothing."""
    encoded = canon.encode(document)
    assert canon.encode(dict(reversed(document.items()))) == encoded
    assert canon.encode(canon.decode(encoded + canon.trailer(1, datetime(2026, 1, 1, tzinfo=UTC)))[0]) == encoded


def test_the_bytes_are_what_the_layout_says() -> None:
    """Sorted keys, no blanks, UTF-8 as it is, times with their offset, then two int64 big-endian."""
    at = datetime(2026, 8, 1, 17, tzinfo=timezone(timedelta(hours=8)))
    assert canon.encode({"b": at, "a": "烤鸭"}) == '{"a":"烤鸭","b":"2026-08-01T17:00:00+08:00"}'.encode()
    assert canon.encode({"a": at.astimezone(UTC)}) == b'{"a":"2026-08-01T09:00:00Z"}'
    assert canon.trailer(1, datetime(1970, 1, 1, 0, 0, 1, 5, UTC)).hex() == "0000000000000001" + "00000000000f4245"


@given(st.binary(max_size=40))
def test_other_bytes_are_tampering(junk: bytes) -> None:
    """Whatever is not an envelope is reported as tampering, never as another error."""
    try:
        canon.decode(junk)
    except TamperError:
        return
    assert junk[:-16].strip()


@pytest.mark.parametrize("envelope", [b"", b"{}", b"\x00" * 16, b"{}" + b"\xff" * 15, b'{"a":1' + bytes(16)])
def test_a_truncated_envelope_is_tampering(envelope: bytes) -> None:
    """A cut or broken envelope cannot be decoded."""
    with pytest.raises(TamperError):
        canon.decode(envelope)
