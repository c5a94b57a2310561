"""What a role of agent may see (R31)."""

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from events.model import Kind


class Part(StrEnum):
    """A section of a context, in the order in which sections stand and the budget is spent."""

    TASK = "task"
    PROFILE = "profile"
    CURRENT = "current"
    SUMMARY = "summary"
    RECENT = "recent_turns"
    EPISODES = "episodes"


EPISODIC: Final = frozenset({Kind.EPISODE, Kind.REFLECTION})
"""The kinds that tell what happened; all others say what holds now."""


@dataclass(frozen=True, slots=True)
class RolePolicy:
    """The sections a role may have, the kinds of memory in them, how many, and semantic keys it does not see.

    `fields` are the semantic keys of the profile, `unseen` those of them that are not visible to the role (R16).
    """

    parts: frozenset[Part]
    kinds: frozenset[Kind]
    memories: int = 8
    hidden_keys: tuple[str, ...] = ()
    fields: frozenset[str] = frozenset()
    unseen: frozenset[str] = frozenset()

    def sees(self, kind: Kind, key: str | None) -> bool:
        """Say whether a memory of this kind under this semantic key is the role's business; no key hides a format."""
        hidden = kind is not Kind.FORMAT and any(fnmatchcase(key or "", pattern) for pattern in self.hidden_keys)
        return kind in self.kinds and not hidden and key not in self.unseen

    def part_of(self, kind: Kind, key: str | None) -> Part:
        """Return the section a memory stands in."""
        if kind in EPISODIC:
            return Part.EPISODES
        return Part.PROFILE if key in self.fields and Part.PROFILE in self.parts else Part.CURRENT
