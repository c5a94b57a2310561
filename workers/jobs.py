"""Jobs on Redis: positions in the log, never content. Losing one costs a delay, for the sweepers ask the log again."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import cast

import redis.asyncio as redis

from events.envelope import StoredEvent
from events.errors import BadInputError
from events.model import Position, Tombstoned, TurnFinalized
from services.forgetting.letters import DeadLetters, Parked
from workers.delivery import Letter

TURNS = "turns"
REMEMBER = "remember"
ERASE = "erase"
_LOOK = 2_000


class Jobs:
    """Puts jobs on their streams."""

    def __init__(self, url: str) -> None:
        self._client = redis.from_url(url)

    async def dispatch(self, events: Iterable[StoredEvent]) -> int:
        """Queue a job for every event that asks for one; return how many."""
        wanted = [
            (REMEMBER if isinstance(stored.event, TurnFinalized) else ERASE, stored.position)
            for stored in events
            if stored.type in {TurnFinalized.type, Tombstoned.type}
        ]
        if wanted:
            async with self._client.pipeline(transaction=False) as pipe:
                for stream, position in wanted:
                    pipe.xadd(stream, {"position": str(position)})
                await pipe.execute()
        return len(wanted)

    async def queue(self, stream: str, positions: Iterable[Position]) -> None:
        """Queue jobs for positions that have none on the stream; while it is long nothing, for it will all be done."""
        lying = cast("list[tuple[bytes, Mapping[bytes, bytes]]]", await self._client.xrange(stream, count=_LOOK))
        if len(lying) == _LOOK:
            return
        known = {fields.get(b"position", b"").decode("ascii", "replace") for _, fields in lying}
        async with self._client.pipeline(transaction=False) as pipe:
            for position in positions:
                if str(position) not in known:
                    pipe.xadd(stream, {"position": str(position)})
            await pipe.execute()

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()


def position_of(fields: Mapping[str, str]) -> Position:
    """Read a job.

    Raises:
        ValueError: the entry is not a job.
    """
    return Position(int(fields["position"]))


async def park_job(letters: DeadLetters, letter: Letter) -> None:
    """Keep the reason and the position: what the job was about is in the log."""
    position = None
    with suppress(KeyError, ValueError):  # an entry that is no job
        position = position_of(letter.fields)
    await letters.park(
        None,
        stream=letter.stream,
        entry_id=letter.entry_id,
        reason=letter.reason,
        deliveries=letter.deliveries,
        text=None,
        position=position,
    )


def job_of(letter: Parked) -> dict[str, str]:
    """Make the entry of a parked job anew.

    Raises:
        BadInputError: what was parked was no job.
    """
    if letter.position is None:
        raise BadInputError(
            f"dead letter {letter.letter_id} names no position, so nothing can be done with it; drop it"
        )
    return {"position": str(letter.position)}
