"""Text that may enter: which characters are refused, and what counts as blank."""

import re
import unicodedata
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field
from pydantic_core import PydanticCustomError

# \n, \t and \r are how people write; the other C0 controls are never typed, and Postgres cannot hold NUL.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_CONTROL_OR_BREAK = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)


def is_blank(text: str) -> bool:
    """Tell whether nothing in the text can be seen: only separators, controls and zero-width characters."""
    return all(unicodedata.category(char)[0] in "ZC" for char in text)


def _whole(text: str) -> str:
    if _SURROGATE.search(text):
        raise PydanticCustomError("surrogate", "contains a lone surrogate, which is not a character")
    return text


def _writable(text: str) -> str:
    found = _CONTROL.search(text)
    if found:
        raise PydanticCustomError(
            "control_character",
            "contains the control character U+{code} at position {at}; only newline, tab and carriage return may enter",
            {"code": f"{ord(found.group()):04X}", "at": found.start()},
        )
    return text


def _one_line(text: str) -> str:
    if _CONTROL_OR_BREAK.search(text):
        raise PydanticCustomError("control_character", "contains a control character or a line break")
    return text


def _not_blank(text: str) -> str:
    if is_blank(text):
        raise PydanticCustomError("blank", "is blank")
    return text


def _written_out(value: object) -> object:
    # pydantic would take 1700000000 and "1700000000" for a time; a number says nothing about its unit or zone.
    if isinstance(value, datetime) or (isinstance(value, str) and _RFC3339.match(value)):
        return value
    raise PydanticCustomError("instant", "must be an RFC 3339 time with an offset, such as 2026-03-01T09:30:00+08:00")


Text = Annotated[str, AfterValidator(_whole), AfterValidator(_writable)]
"""Free text, as a person or a model writes it."""

Query = Annotated[
    str,
    Field(min_length=1, max_length=8_000),
    AfterValidator(_whole),
    AfterValidator(_writable),
    AfterValidator(_not_blank),
]
"""What is asked for."""

OutsideId = Annotated[
    str,
    Field(min_length=1, max_length=200),
    AfterValidator(_whole),
    AfterValidator(_one_line),
    AfterValidator(_not_blank),
]
"""An id the caller made up: opaque, one line, 1 to 200 characters."""

Instant = Annotated[AwareDatetime, BeforeValidator(_written_out)]
"""A point in time with its offset; the offset is kept, because "tomorrow" depends on it."""
