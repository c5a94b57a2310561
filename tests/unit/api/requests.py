"""The JSON of good requests, to be spoiled."""

from datetime import UTC, datetime
from typing import Any


def turn(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON values
    """Make the JSON of a good turn, with changes."""
    return {
        "turn_id": "t-1",
        "session_id": "s-1",
        "occurred_at": datetime.now(UTC).isoformat(),
        "messages": [message()],
        **changes,
    }


def message(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON values
    """Make the JSON of a good message, with changes."""
    return {"message_id": "m-1", "role": "user", "content": "我不吃牛肉, and I like tea.", **changes}
