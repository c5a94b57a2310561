"""What a summary is made of, and what it says, as frozen values."""

from dataclasses import dataclass
from typing import Final, Protocol

from events.model import MemoryId, MessageId, Origin, SummarySlot, TenantId

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


@dataclass(frozen=True, slots=True)
class Draft:
    """The lines of a summary, and who wrote them: name and version, as the log records them."""

    lines: tuple[Line, ...]
    writer: str


class Drafter(Protocol):
    """What writes summaries; whatever it writes is compared before it counts."""

    async def draft(self, tenant: TenantId, material: "Material") -> Draft:
        """Write the lines of a new summary for somebody of this tenant."""


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
