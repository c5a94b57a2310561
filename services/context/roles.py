"""What a role of agent may see (R31)."""

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from events.model import Kind


class Part(StrEnum):
    """A section of a context, in the order in which sections stand and the budget is spent."""

    TASK = "task"
    CURRENT = "current"
    SUMMARY = "summary"
    RECENT = "recent_turns"
    EPISODES = "episodes"


EPISODIC: Final = frozenset({Kind.EPISODE, Kind.REFLECTION})
"""The kinds that tell what happened; all others say what holds now."""


@dataclass(frozen=True, slots=True)
class RolePolicy:
    """The sections a role may have, the kinds of memory in them, how many, and semantic keys it does not see."""

    parts: frozenset[Part]
    kinds: frozenset[Kind]
    memories: int = 8
    hidden_keys: tuple[str, ...] = ()

    def sees(self, kind: Kind, key: str | None) -> bool:
        """Say whether a memory of this kind under this semantic key is the role's business; no key hides a format."""
        hidden = kind is not Kind.FORMAT and any(fnmatchcase(key or "", pattern) for pattern in self.hidden_keys)
        return kind in self.kinds and not hidden
