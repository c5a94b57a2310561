"""The evaluation policy `eval_index_all`: every message becomes an episode, whatever it says. It measures recall only.

The product extracts and judges; here its own code is given an extractor that proposes each message as it stands and no
gate that could object, so that what is measured is how memories are found, not which are kept. No setting turns it on.
"""

from typing import Final

from events.model import Assertion, Candidate, Evidence, Kind, TenantId, Turn
from services.extraction.extract import Extraction
from services.extraction.extractor import Extracted
from services.governance.judge import Gate

NO_GATES: Final[tuple[Gate, ...]] = ()
_EVEN: Final = 0.5


class IndexAll:
    """Proposes every message as an episode."""

    name = "eval_index_all"

    async def extract(self, tenant: TenantId, turn: Turn) -> Extracted:
        """Propose the messages of a turn, all alike."""
        del tenant
        candidates = tuple(
            Candidate(
                kind=Kind.EPISODE,
                key=None,
                value=message.content,
                content=message.content,
                evidence=(Evidence(message_id=message.message_id, start=0, end=len(message.content)),),
                assertion=Assertion.STATED,
                confidence=1.0,
                importance=_EVEN,
            )
            for message in turn.messages
        )
        return Extracted(extraction=Extraction(candidates=candidates, suppressions=()), extractor=self.name)
