"""What reads a turn: the seam behind which the rules stand, a model, or what an evaluation puts there (R12)."""

import asyncio
from typing import Protocol

from pydantic import Field

from events.model import Frozen, TenantId, Turn
from services.extraction.exemplars import Sense
from services.extraction.extract import EXTRACTOR, Extraction, extract


class Extracted(Frozen):
    """What was proposed for a turn and by whom.

    `extractor` is name and version. `fallback` says why it is not the one that was asked, where it is not. `notes` are
    counts by name, of what a reader of the log should know. None of them holds content.
    """

    extraction: Extraction
    extractor: str
    fallback: str | None = None
    notes: dict[str, int] = Field(default_factory=dict)


class Extractor(Protocol):
    """Proposes candidates and suppressions; gates decide."""

    @property
    def name(self) -> str:
        """Name and version, as the log records them."""

    async def extract(self, tenant: TenantId, turn: Turn) -> Extracted:
        """Propose what a finished turn says about the person; a failure of its own is never raised."""


class Rules:
    """The deterministic extractor, in a thread of its own.

    Args:
        sense: judges what the rules do not read, by example.
        version: of those examples, for the log.
    """

    def __init__(self, sense: Sense | None = None, version: str = "") -> None:
        self._sense = sense
        self.name = EXTRACTOR if sense is None else f"{EXTRACTOR}+exemplars/{version}"

    async def extract(self, tenant: TenantId, turn: Turn) -> Extracted:
        """Propose what the rules find; whose turn it is does not matter to them."""
        del tenant
        return Extracted(extraction=await asyncio.to_thread(extract, turn, self._sense), extractor=self.name)
