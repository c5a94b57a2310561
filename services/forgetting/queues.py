"""The probe of what waits: Redis streams."""

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import ClassVar, cast

import orjson
import redis.asyncio as redis

from events.model import LayerFinding, Scope
from services.forgetting.layers import finding
from services.forgetting.question import Question
from services.forgetting.said import says

STREAMS = ("turns", "remember", "erase")
_PAGE = 1000

Entry = tuple[bytes, dict[bytes, bytes]]


class QueueProbe:
    """Reads every entry of every stream, pending ones included, and looks for forgotten ids and words.

    Words count in what the same person hands over: that somebody else says the same is no trace of this memory. An
    entry that still waits may say the same thing anew; it meets the fence and the known turn id when it is taken up.
    """

    layer: ClassVar[str] = "async_queue"

    def __init__(self, url: str) -> None:
        self._client = redis.from_url(url)

    async def ask(self, question: Question) -> LayerFinding:
        """Scan the streams."""
        ids = [str(each) for each in (*question.memories, *question.messages, *question.keys)]
        entries = hits = 0
        for stream in STREAMS:
            start = "-"
            while page := cast("list[Entry]", await self._client.xrange(stream, min=start, count=_PAGE)):
                entries += len(page)
                for _, fields in page:
                    text = "\n".join(value.decode("utf-8", "replace") for value in fields.values())
                    words = question.texts if _owner(fields) in {None, question.scope} else ()
                    hits += says(text, (*ids, *words))
                start = f"({page[-1][0].decode()}"
        return finding(
            self.layer, {"entries": entries, "exact_text_or_id": hits}, "drained", lambda name: name != "entries"
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()


def _owner(fields: Mapping[bytes, bytes]) -> Scope | None:
    """Read off the token whose entry it is, without checking it; None where that cannot be read."""
    try:
        _, payload, _ = fields[b"token"].split(b".")
        claims = orjson.loads(urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
        return Scope(tenant_id=claims["tenant"], subject_id=claims["subject"])
    except (KeyError, TypeError, ValueError):
        return None
