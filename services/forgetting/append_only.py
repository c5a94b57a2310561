"""The append-only file of Redis: what came in the clear over the stream `turns` lies in it until it is rewritten."""

import asyncio
from typing import Any, ClassVar, Final, cast

import redis.asyncio as redis
import structlog
from redis.exceptions import ResponseError

from events.envelope import StoredEvent
from services.forgetting.question import Question

log = structlog.get_logger(__name__)

TURNS: Final = "turns"
REWRITTEN: Final = "cenotaph:rewritten"
"""The key that holds the id of the newest entry known to be in no file: deleted before a rewrite that ended began."""

EntryId = tuple[int, int]
_NEVER: Final[EntryId] = (0, 0)
_POLL_S = 0.02
_EMPTY_WITHIN_S = 1.0


class AppendOnlyFile:
    """Asks the server to rewrite its append-only file when, and only when, it may hold what somebody said.

    Of many who ask at once, one rewrites and one more after it; the others find the work done.

    Args:
        url: where Redis is.
    """

    name: ClassVar[str] = "append_only_file"

    def __init__(self, url: str) -> None:
        self._client = redis.from_url(url)
        self._one_at_a_time = asyncio.Lock()
        self._said = False

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Rewrite the file if anything was handed over in the clear since it was rewritten."""
        del tombstone, question
        await self.reclaim()

    async def reclaim(self) -> bool:
        """Rewrite the file unless it is clean; return whether nothing handed over so far is left in it."""
        wanted = await generated(self._client)
        if await rewritten(self._client) >= wanted:
            return True
        async with self._one_at_a_time:
            if await rewritten(self._client) >= wanted:
                return True
            return await self._rewrite()

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def _rewrite(self) -> bool:
        about = await self._client.info()
        if not about["aof_enabled"]:
            self._complain("it is switched off, and what else the server writes is not known")
            return False
        covered = await self._all_deleted()
        if covered is None:
            return False
        try:
            while not await self._begun():
                await self._ended()
        except ResponseError as error:
            self._complain(type(error).__name__)
            return False
        after = await self._ended()
        if after["run_id"] != about["run_id"] or after["aof_last_bgrewrite_status"] != "ok":
            log.warning("append_only_file_not_rewritten", reason="the server was restarted or could not write it")
            return False
        await self._client.set(REWRITTEN, f"{covered[0]}-{covered[1]}")
        return True

    async def _all_deleted(self) -> EntryId | None:
        """Wait a moment for an empty stream; return its newest id.

        Beside an entry that is left, the server keeps the bytes of deleted ones in the same node, and would write them
        into the new file.
        """
        deadline = asyncio.get_running_loop().time() + _EMPTY_WITHIN_S
        while True:
            newest = await generated(self._client)
            if not await self._client.xlen(TURNS):
                return newest
            if asyncio.get_running_loop().time() > deadline:
                return None
            await asyncio.sleep(_POLL_S)

    async def _begun(self) -> bool:
        """Ask for a rewrite; False where one that began earlier is under way."""
        try:
            await self._client.bgrewriteaof()
        except ResponseError as error:
            if "in progress" not in str(error):
                raise
            return False
        return True

    async def _ended(self) -> dict[str, Any]:
        """Wait until no rewrite runs or is scheduled; return what the server then says of itself."""
        while True:
            about: dict[str, Any] = await self._client.info()
            if not about["aof_rewrite_in_progress"] and not about["aof_rewrite_scheduled"]:
                return about
            await asyncio.sleep(_POLL_S)

    def _complain(self, reason: str) -> None:
        """Say once that the server does not rewrite: it will not the next time either."""
        if not self._said:
            log.warning("append_only_file_not_rewritten", reason=reason)
        self._said = True


async def generated(client: "redis.Redis") -> EntryId:
    """Return the id of the newest entry ever handed over, deleted ones included."""
    try:
        about = await client.xinfo_stream(TURNS)
    except ResponseError:  # there is no such stream
        return _NEVER
    return _id(about["last-generated-id"])


async def rewritten(client: "redis.Redis") -> EntryId:
    """Return the id of the newest entry that lies in no file any more."""
    mark = cast("bytes | None", await client.get(REWRITTEN))
    return _NEVER if mark is None else _id(mark)


def _id(raw: bytes) -> EntryId:
    milliseconds, _, counter = raw.decode().partition("-")
    return int(milliseconds), int(counter)
