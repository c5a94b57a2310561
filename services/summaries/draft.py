"""What a summary is made of, and what it says, as frozen values."""

from dataclasses import dataclass
from typing import Final, Protocol

from events.model import MemoryId, MessageId, Origin, SummarySlot

ORDER: Final = tuple(SummarySlot)
"""The order in which slots are written and shown."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of the session, opened; `number` counts them from its beginning."""

    message_id: MessageId
    origin: Origin
    text: str
    number: int
    reference: str


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that was said in the session and is current."""

    memory_id: MemoryId
    content: str
    messages: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One text of a summary, and what it rests on."""

    slot: SummarySlot
    text: str
    memories: tuple[MemoryId, ...] = ()
    messages: tuple[MessageId, ...] = ()


class Drafter(Protocol):
    """What writes summaries; whatever it writes is compared before it counts."""

    @property
    def name(self) -> str:
        """Name and version, as the log records them."""

    async def draft(self, material: "Material") -> tuple[Line, ...]:
        """Write the lines of a new summary."""


@dataclass(frozen=True, slots=True)
class Material:
    """All that a summary may be made of, and be compared with.

    `before` are the lines of the summary before that can still be read; `constraints` are those of the person's running
    tasks.
    """

    heard: tuple[Heard, ...]
    known: tuple[Known, ...] = ()
    before: tuple[Line, ...] = ()
    constraints: tuple[str, ...] = ()
