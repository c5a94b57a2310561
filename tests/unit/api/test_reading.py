import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.wire.limits import Limits
from services.wire.reading import InvalidError, MalformedError, read
from services.wire.text import is_blank
from services.wire.turns import TurnIn
from tests.unit.api.requests import message, turn

# Surrogates on purpose: JSON can spell them, Python can hold them, UTF-8 and Postgres cannot.
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.binary(max_size=200))
def test_any_bytes(raw: bytes) -> None:
    """Any bytes are a turn or one of two refusals, never another exception."""
    with suppress(MalformedError, InvalidError):
        read(TurnIn, raw, Limits())


@given(st.sampled_from(sorted({*turn(), "status", "contexts", "schema"})), ANY_JSON)
def test_any_value_in_any_field(field: str, value: object) -> None:
    """Whatever stands in a field, the turn is taken or refused with that field named."""
    try:
        read(TurnIn, json.dumps(turn(**{field: value})).encode(), Limits())
    except InvalidError as error:
        assert {each.field.split("[")[0].split(".")[0] for each in error.problems} == {field}  # noqa: PT017  # both ends are fine


@given(ANY_TEXT)
def test_taken_text_is_unchanged_and_storable(content: str) -> None:
    """Text that is taken is exactly what was sent, is valid UTF-8 and has no NUL."""
    raw = json.dumps(turn(messages=[message(), message(message_id="2", content=content)])).encode()
    try:
        taken = read(TurnIn, raw, Limits()).messages[1].content
    except InvalidError:
        assert any(ord(char) < 32 and char not in "\n\t\r" for char in content) or any(
            0xD800 <= ord(char) <= 0xDFFF for char in content
        )
    else:
        assert taken == content
        assert b"\0" not in taken.encode()


@given(ANY_TEXT)
def test_refusals_repeat_nothing(secret: str) -> None:
    """No refusal holds what was sent, whichever field it was sent in."""
    secret = f"秘密{secret}"
    everywhere = dict.fromkeys((*turn(), "status", "contexts", "schema"), secret)
    for body in (everywhere, turn(**{secret: secret}), turn(messages=[dict.fromkeys(message(), secret)])):
        with pytest.raises(InvalidError) as caught:
            read(TurnIn, json.dumps(body).encode(), Limits())
        assert "秘密" not in str(caught.value)


@pytest.mark.parametrize("text", ["", " ", "\u3000\n\t", "\u200b\ufeff\u2060"])
def test_blank(text: str) -> None:
    """What nobody can see is blank."""
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", "我", "\u200b。", "😀", "0"])
def test_not_blank(text: str) -> None:
    """One visible character is enough."""
    assert not is_blank(text)
