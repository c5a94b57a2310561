"""How much one request may carry."""

from dataclasses import dataclass
from datetime import timedelta

from pydantic import ValidationInfo


@dataclass(frozen=True, slots=True)
class Limits:
    """What the door refuses as too much; passed to pydantic as the validation context.

    Attributes:
        max_messages: messages in one turn.
        max_message_chars: code points in one message.
        max_skew: how far in the future a turn may lie, for clocks that differ.
        max_body_bytes: bytes of one request body, before it is parsed.
    """

    max_messages: int = 200
    max_message_chars: int = 100_000
    max_skew: timedelta = timedelta(seconds=300)
    max_body_bytes: int = 1024 * 1024


def limits_of(info: ValidationInfo) -> Limits:
    """Return the limits a validator runs under; the defaults where the caller gave none."""
    return info.context if isinstance(info.context, Limits) else Limits()
