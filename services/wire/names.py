"""Outside names: those that need a second one to be unique, and those that a credential is bound to."""

from typing import Final, NamedTuple

_SEPARATOR = "\x1f"  # a control character, which no outside id may hold


class Bounds(NamedTuple):
    """What a credential is bound to within a person's memory, by the caller's own ids; None where it is not."""

    project: str | None = None
    task_id: str | None = None
    assistant: str | None = None
    purpose: str | None = None


UNBOUND: Final = Bounds()


def message_name(turn: str, message: str) -> tuple[str, str]:
    """Name a message by its outside ids: its own is unique within the turn only."""
    return "message", f"{turn}{_SEPARATOR}{message}"


def message_of(outside: str) -> str:
    """Return a message's own outside id."""
    return outside.rpartition(_SEPARATOR)[2]
