"""Where each origin of a log keeps its signed notes in the second place: a restored log signs another history (R44).

The first origin writes at the top. Each restore leaves a thing `restored/NUMBER-ID.json`, and its log writes below
`origins/NUMBER-ID`. A log knows by its own database which origin it is, and keeps to that one whatever else lies in the
place: it may be read, or be alive, beside others. What was forgotten is common to all.
"""

import asyncio
from typing import Final
from uuid import UUID

from events import canon
from events.errors import CenotaphError
from events.place import Below, Place
from events.postgres import Connection

RESTORED: Final = "restored"
STREAM: Final = "system/restored"
"""Holds the event that each restore begins with; its command is the restore."""

_RESTORE = """
select command_id from log.event where stream = $1 and type = 'restored' order by version desc limit 1"""


def origins(place: Place) -> list[Place]:
    """Return the place of every origin, oldest first."""
    return [place, *_restored(place).values()]


async def own(connection: Connection, place: Place) -> Place:
    """Return the part of the second place that belongs to a log, by what its own database says.

    Args:
        connection: one that may read the log.
        place: the second place.

    Raises:
        CenotaphError: the log was restored, and not with this second place.
    """
    restore_id = await connection.fetchval(_RESTORE, STREAM)
    if restore_id is None:
        return place
    found = (await asyncio.to_thread(_restored, place)).get(str(restore_id))
    if found is None:
        raise CenotaphError(
            f"the second place does not know restore {restore_id}, with which this log begins: it is that of another"
            " log, or lost things; name its own with CENOTAPH_SECOND_PLACE (of a drill: that in its data directory)"
        )
    return found


def begin(place: Place, restore_id: UUID, backup_id: UUID, origin: str) -> None:
    """Make the part of a new origin known; once for the same restore.

    Args:
        place: the second place.
        restore_id: of the restore.
        backup_id: of the backup that is restored.
        origin: the name of the log that the backup was taken of.
    """
    there = _restored(place)
    if str(restore_id) not in there:
        content = canon.encode({"backup_id": backup_id, "origin": origin, "restore_id": restore_id})
        place.put(f"{RESTORED}/{len(there) + 1:06}-{restore_id}.json", content)


def _restored(place: Place) -> dict[str, Place]:
    """Return the part of each restore by its id, oldest first."""
    names = [name.removeprefix(f"{RESTORED}/").removesuffix(".json") for name in place.names(RESTORED)]
    return {name.partition("-")[2]: Below(place, f"origins/{name}") for name in names}
