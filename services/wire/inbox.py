"""What waits for the person, and how it was settled."""

from typing import Literal

from events.model import Frozen, MemoryId
from services.wire.memories import MemoryView


class InboxEntry(MemoryView):
    """A memory that waits: for consent, a confirmation, a recheck, or a choice between it and its `rivals`."""

    why: Literal["needs_consent", "held", "in_conflict", "recheck"]
    rivals: tuple[MemoryId, ...] = ()


class InboxPage(Frozen):
    """Everything that waits, newest first."""

    entries: tuple[InboxEntry, ...]


class SettledView(Frozen):
    """Where something that waited ended: version `version` of `memory_id` stands, or it was refused."""

    memory_id: MemoryId
    version: int
    decision: Literal["confirmed", "chosen", "refused", "verified"]
