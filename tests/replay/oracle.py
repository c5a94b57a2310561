"""The second, naive fold: what each read model must say, from the bare envelopes. Shares no code with projections/."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from events.envelope import StoredEvent

Truth = dict[tuple[UUID, int], tuple[str, int, bool]]  # (memory, version) → (status, reinforced, source_forgotten)


def truth(events: Iterable[StoredEvent]) -> Truth:
    """Replay one person's memory stream, slowly: for each version that exists, look at all that happened to it."""
    history: list[tuple[str, Any]] = [(event.type, event.document) for event in events]
    found: Truth = {}
    for born, (kind, data) in enumerate(history):
        if kind == "accepted":
            memory, version, status = data["memory_id"], data["version"], "current"
        elif kind == "not_written" and data["outcome"] == "held":
            memory, version, status = data["candidate_id"], 1, "held"
        else:
            continue
        later = history[born + 1 :]
        own = [name for name, it in later if (it.get("memory_id"), it.get("version")) == (memory, version)]
        named = [(name, at) for at, (name, it) in enumerate(later) if memory in it.get("memories", ())]
        stones = [at for name, at in named if name == "tombstoned"]
        if any(name == "tombstoned" and memory in it["memories"] for name, it in history[:born]):
            stones.insert(0, 0)  # forgotten before it was written: it never lived
        until = stones[0] if stones else len(later)
        orphaned = any(memory in it.get("orphaned", ()) for _, it in later[:until])
        if stones:
            status = "forgotten"
        elif {"expired", "superseded"} & {*own, *dict(named)}:
            status = "expired" if "expired" in dict(named) else "superseded"
        elif dict(named).get("merged", -1) > dict(named).get("separated", -1):
            status = "merged"
        found[UUID(memory), version] = (status, own.count("reinforced"), orphaned)
    return found


def indexed(events: Iterable[StoredEvent]) -> dict[UUID, tuple[int, int | None]]:
    """Say which version of each memory both indexes hold, and at which position it was written."""
    events = list(events)
    current = {place for place, (status, _, _) in truth(events).items() if status == "current"}
    written = [(each.document, each.position) for each in events if each.type == "accepted"]
    rows = [(UUID(it["memory_id"]), it["version"], position) for it, position in written]
    return {memory: (version, position) for memory, version, position in rows if (memory, version) in current}


def spoken(events: Iterable[StoredEvent]) -> dict[UUID, tuple[UUID, bool, bool]]:
    """Say of each message: its turn, whether that was considered, whether the message is gone."""
    history: list[tuple[str, Any]] = [(event.type, event.document) for event in events]
    considered = {it["turn_id"] for name, it in history if name == "turn_considered"}
    gone = {each for name, it in history if name in {"tombstoned", "expired"} for each in it["messages"]}
    return {
        UUID(message["message_id"]): (UUID(it["turn_id"]), it["turn_id"] in considered, message["message_id"] in gone)
        for name, it in history
        if name == "turn_finalized"
        for message in it["messages"]
    }
