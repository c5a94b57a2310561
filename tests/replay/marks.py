"""The naive fold of what upkeep notes beside a status: what was asked for, when it was used, what is cold."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from events.envelope import StoredEvent
from tests.replay.oracle import indexed, truth

# (memory, version) → (asked, used_at, cold, lease_ended_at)
Marks = dict[tuple[UUID, int], tuple[bool, datetime | None, bool, datetime | None]]


def marks(events: Sequence[StoredEvent]) -> Marks:
    """Say it of every version that was accepted."""
    return {
        (UUID(each.document["memory_id"]), each.document["version"]): (
            _asked(events[: born + 1], events[born + 1 :]),
            next((at.said_at for at in reversed(_on(events, born, "used"))), None),
            [at.document.get("tier") for at in _on(events, born, "tiered", "separated")][-1:] == ["cold"],
            next((at.said_at for at in reversed(_on(events, born, "lease_ended"))), None),
        )
        for born, each in enumerate(events)
        if each.type == "accepted"
    }


def placed(events: Sequence[StoredEvent]) -> dict[UUID, tuple[int, int | None]]:
    """Say which version of each memory the vector index holds, and as of which position."""
    found = dict(indexed(events))
    for each in events:
        if each.type in {"tiered", "separated"}:
            for memory in map(UUID, each.document["memories"]):
                at = found.get(memory)
                if at is not None and (at[1] or 0) < (each.position or 0):
                    found[memory] = (at[0], each.position)
    cold = {place for place, (_, _, is_cold, _) in marks(events).items() if is_cold}
    return {memory: at for memory, at in found.items() if (memory, at[0]) not in cold}


def _asked(until: Sequence[StoredEvent], later: Sequence[StoredEvent]) -> bool:
    born: dict[str, Any] = until[-1].document
    memory, version = born["memory_id"], born["version"]
    if born["explicit"] or any(
        each.type == "reinforced" and each.document["explicit"]
        for each in later
        if (each.document.get("memory_id"), each.document.get("version")) == (memory, version)
    ):
        return True
    for at, each in enumerate(until[:-1]):
        if each.type == "accepted" and (each.document["memory_id"], each.document["version"]) == (memory, version - 1):
            return _asked(until[: at + 1], until[at + 1 : -1])
    return False


def _on(events: Sequence[StoredEvent], born: int, *kinds: str) -> list[StoredEvent]:
    """Return the events of some types that name a version and find it, or leave it, current."""
    memory, version = events[born].document["memory_id"], events[born].document["version"]
    return [
        each
        for at, each in enumerate(events)
        if at > born and each.type in kinds and memory in each.document["memories"]
        if truth(events[: at + 1])[UUID(memory), version][0] == "current"
    ]
