"""Where a memory is now (R45). Content-free."""

from datetime import datetime
from typing import Literal

from events.model import Frozen, MemoryId
from services.wire.memories import MemoryStatus


class PlaceView(Frozen):
    """What one layer holds of it now.

    `holds` is None where the layer could not be asked. `versions` are those found there, where the layer keeps them;
    `position` is how far it had followed the log; `checks` are the counts behind the answer. `readers` are who may read
    what lies there: roles of the database, or what opens a store that knows none.
    """

    layer: str
    holds: bool | None
    versions: tuple[int, ...]
    position: int | None
    checks: dict[str, int]
    readers: tuple[str, ...]
    at: datetime


class WhereView(Frozen):
    """Every layer, asked about one memory; `readers` are the roles to which the API gives its content now."""

    memory_id: MemoryId
    status: MemoryStatus
    readers: tuple[Literal["person", "agent"], ...]
    layers: tuple[PlaceView, ...]
