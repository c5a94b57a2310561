"""What can go wrong with the embedded servers."""

from events.errors import CenotaphError


class EmbeddedError(CenotaphError):
    """An embedded server cannot be prepared, started or kept running; the message says what to do."""
