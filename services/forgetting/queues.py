"""The probe of what waits: Redis streams."""

from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import ClassVar, cast

import orjson
import redis.asyncio as redis

from events.model import LayerFinding, Scope
from services.forgetting.append_only import generated, rewritten
from services.forgetting.layers import finding
from services.forgetting.question import Question
from services.forgetting.said import said_after, says

STREAMS = ("turns", "remember", "erase")
_QUERY = f"xrange - + of {', '.join(STREAMS)}: ids in any entry, words in those of the person or of nobody"
_PAGE = 1000

Entry = tuple[bytes, dict[bytes, bytes]]


class QueueProbe:
    """Reads every entry of every stream, pending ones included, and looks for forgotten ids and words.

    Words count in what the same person hands over: that somebody else says the same is no trace of this memory. Nor is
    what the person said anew since; those entries are neighbours. Of a whole person every entry counts.

    It is `drained` at best, and `unreclaimed` while anything that was handed over may lie in the append-only file.
    """

    layer: ClassVar[str] = "async_queue"

    def __init__(self, url: str) -> None:
        self._client = redis.from_url(url)

    async def ask(self, question: Question) -> LayerFinding:
        """Scan the streams, then see whether the server's file was rewritten since anything was handed over."""
        ids = [str(each) for each in (*question.memories, *question.messages, *question.keys)]
        entries = hits = anew = 0
        for stream in STREAMS:
            start = "-"
            while page := cast("list[Entry]", await self._client.xrange(stream, min=start, count=_PAGE)):
                entries += len(page)
                for entry_id, fields in page:
                    text = "\n".join(value.decode("utf-8", "replace") for value in fields.values())
                    owner = _owner(fields)
                    words = question.texts if owner in {None, question.scope} else ()
                    turn = fields.get(b"turn", b"").decode("utf-8", "replace")
                    if says(text, ids):
                        hits += 1
                    elif says(text, words) or (question.whole and _within(owner, question)):
                        later = said_after(turn, _arrived(entry_id), question.forgotten_at)
                        hits, anew = (hits, anew + 1) if later else (hits + 1, anew)
                start = f"({page[-1][0].decode()}"
        checks = {"entries": entries, "exact_text_or_id": hits, "neighbours": anew}
        clean = await rewritten(self._client) >= await generated(self._client)
        return finding(self.layer, checks, "drained" if clean else "unreclaimed", dict.fromkeys(checks, _QUERY))

    async def readers(self) -> Sequence[str]:
        """Name what opens the server: it knows no roles."""
        return ("REDIS_URL",)

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()


def _within(owner: Scope | None, question: Question) -> bool:
    """Tell whether an entry is that of the person, or of somebody of the tenant, that was forgotten as a whole."""
    return (
        owner is not None
        and owner.tenant_id == question.scope.tenant_id
        and question.person
        in {
            None,
            owner.subject_id,
        }
    )


def _arrived(entry_id: bytes) -> datetime:
    """Read off an entry's id when the server took it: milliseconds since 1970, then a counter."""
    return datetime.fromtimestamp(int(entry_id.partition(b"-")[0]) / 1000, UTC)


def _owner(fields: Mapping[bytes, bytes]) -> Scope | None:
    """Read off the token whose entry it is, without checking it; None where that cannot be read."""
    try:
        _, payload, _ = fields[b"token"].split(b".")
        claims = orjson.loads(urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
        return Scope(tenant_id=claims["tenant"], subject_id=claims["subject"])
    except (KeyError, TypeError, ValueError):
        return None
