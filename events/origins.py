"""Where each origin of a log keeps its signed notes in the second place: a restored log signs another history (R44).

The first origin writes at the top. Each restore leaves a thing `restored/NUMBER-ID.json`, and its log writes below
`origins/NUMBER-ID`. The last one is the log that lives; what an older one signed stays where it is. What was forgotten
is common to all.
"""

from typing import Final
from uuid import UUID

from events import canon
from events.place import Below, Place

RESTORED: Final = "restored"


def origins(place: Place) -> list[Place]:
    """Return the place of every origin, oldest first."""
    names = [name.removeprefix(f"{RESTORED}/").removesuffix(".json") for name in place.names(RESTORED)]
    return [place, *(Below(place, f"origins/{name}") for name in names)]


def current(place: Place) -> Place:
    """Return the place of the log that lives."""
    return origins(place)[-1]


def begin(place: Place, restore_id: UUID, backup_id: UUID, origin: str) -> Place:
    """Return the place of a new origin, which is the living one from here on; the same for the same restore.

    Args:
        place: the second place.
        restore_id: of the restore.
        backup_id: of the backup that is restored.
        origin: the name of the log that the backup was taken of.
    """
    names = list(place.names(RESTORED))
    if not any(str(restore_id) in name for name in names):
        content = canon.encode({"backup_id": backup_id, "origin": origin, "restore_id": restore_id})
        place.put(f"{RESTORED}/{len(names) + 1:06}-{restore_id}.json", content)
    (name,) = (each for each in place.names(RESTORED) if str(restore_id) in each)
    return Below(place, f"origins/{name.removeprefix(f'{RESTORED}/').removesuffix('.json')}")
