"""Finding words in a text that may be JSON, where an escaped Chinese word looks like none; and when it was said."""

import re
from collections.abc import Iterable
from datetime import datetime

import orjson

_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DEPTH = 3  # JSON in JSON in JSON


def says(text: str, words: Iterable[str]) -> bool:
    """Say whether any of the words occurs in a text, written out or escaped as JSON does it; blank words never do."""
    words = [word for word in words if word.strip()]
    for _ in range(_DEPTH):
        if any(word in text for word in words):
            return True
        if (plain := unescaped(text)) == text:
            return False
        text = plain
    return any(word in text for word in words)


def unescaped(text: str) -> str:
    """Write out the JSON escapes of a text, be it complete or not; half a surrogate pair is replaced."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _SHORT.get(match[2], match[2]), text)
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def said_after(turn: str, arrived: datetime, moment: datetime) -> bool:
    """Say whether a turn in JSON was said after a moment; a date in the future counts as its arrival.

    A turn that does not say when it was said was not.
    """
    try:
        said_at = datetime.fromisoformat(orjson.loads(turn)["occurred_at"])
        return min(said_at, arrived) > moment
    except (KeyError, TypeError, ValueError):  # no JSON, no time in it, or one without an offset
        return False
