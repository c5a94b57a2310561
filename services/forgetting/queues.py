"""The probe of what waits: Redis streams."""

from typing import ClassVar, cast

import redis.asyncio as redis

from events.model import LayerFinding
from services.forgetting.layers import finding
from services.forgetting.question import Question

STREAMS = ("turns", "remember", "erase")
_PAGE = 1000

Entry = tuple[bytes, dict[bytes, bytes]]


class QueueProbe:
    """Reads every entry of every stream, pending ones included, and looks for the forgotten words and ids.

    An entry that still waits may say the same thing anew; it meets the fence and the known turn id when it is taken up.
    """

    layer: ClassVar[str] = "async_queue"

    def __init__(self, url: str) -> None:
        self._client = redis.from_url(url)

    async def ask(self, question: Question) -> LayerFinding:
        """Scan the streams."""
        needles = [
            *(text.encode() for text in question.texts),
            *(str(each).encode() for each in (*question.memories, *question.messages, *question.keys)),
        ]
        entries = hits = 0
        for stream in STREAMS:
            start = "-"
            while page := cast("list[Entry]", await self._client.xrange(stream, min=start, count=_PAGE)):
                entries += len(page)
                hits += sum(
                    any(needle in value for value in fields.values() for needle in needles) for _, fields in page
                )
                start = f"({page[-1][0].decode()}"
        return finding(
            self.layer, {"entries": entries, "exact_text_or_id": hits}, "drained", lambda name: name != "entries"
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()
