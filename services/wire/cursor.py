"""Cursors: where the next page starts, opaque to the caller."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from events.errors import BadInputError

FOREIGN: Final = "this cursor was not given out here; start again without one"


def cursor_of(at: datetime, *rest: object) -> str:
    """Write the place of the last item on a page."""
    return urlsafe_b64encode("|".join((at.isoformat(), *map(str, rest))).encode()).decode()


def read_cursor(cursor: str, *fields: Callable[[str], Any]) -> tuple[Any, ...]:
    """Read a place back, each field by its own reader.

    Raises:
        BadInputError: the cursor is not of this form.
    """
    try:
        parts = urlsafe_b64decode(cursor.encode("ascii")).decode("ascii").split("|")
        return tuple(read(part) for read, part in zip(fields, parts, strict=True))
    except (ValueError, UnicodeError) as error:
        raise BadInputError(FOREIGN) from error
