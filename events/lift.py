"""From stored type, version and data to an event of today."""

from typing import Any

from events.errors import UnknownEventError
from events.model import EVENT_TYPES, Event


def lift(event_type: str, schema_version: int, data: dict[str, Any]) -> Event:
    """Parse the clear half of a stored event.

    Raises:
        UnknownEventError: this build does not know the type or the version.
    """
    cls = EVENT_TYPES.get((event_type, schema_version))
    if cls is None:
        raise UnknownEventError(event_type, schema_version)
    return cls.model_validate(data)
