"""Outside names that need a second one to be unique."""

_SEPARATOR = "\x1f"  # a control character, which no outside id may hold


def message_name(turn: str, message: str) -> tuple[str, str]:
    """Name a message by its outside ids: its own is unique within the turn only."""
    return "message", f"{turn}{_SEPARATOR}{message}"


def message_of(outside: str) -> str:
    """Return a message's own outside id."""
    return outside.rpartition(_SEPARATOR)[2]
