"""What each role of agent sees (R31), as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from events.model import Kind


class RecallRole(StrEnum):
    """What the asking agent is doing."""

    CHAT = "chat"
    PLANNER = "planner"
    SEARCH = "search"
    GENERATOR = "generator"


class Part(StrEnum):
    """A section of a context, in the order in which sections stand and the budget is spent."""

    TASK = "task"
    CURRENT = "current"
    RECENT = "recent_turns"
    EPISODES = "episodes"


EPISODIC: Final = frozenset({Kind.EPISODE, Kind.REFLECTION})
"""The kinds that tell what happened; all others say what holds now."""


@dataclass(frozen=True, slots=True)
class RolePolicy:
    """The sections a role may have, the kinds of memory in them, and how many memories at most."""

    parts: frozenset[Part]
    kinds: frozenset[Kind]
    memories: int = 8


_KNOWN: Final = frozenset({Kind.PREFERENCE, Kind.FACT, Kind.GOAL, Kind.PROFILE, Kind.FORMAT, Kind.PLAN, Kind.PROJECT})

POLICIES: Final[Mapping[RecallRole, RolePolicy]] = {
    RecallRole.CHAT: RolePolicy(frozenset(Part), _KNOWN | {Kind.EPISODE}),
    RecallRole.PLANNER: RolePolicy(
        frozenset({Part.TASK, Part.CURRENT, Part.EPISODES}),
        (_KNOWN - {Kind.PROFILE, Kind.FORMAT}) | {Kind.PROCEDURE} | EPISODIC,
    ),
    RecallRole.SEARCH: RolePolicy(frozenset({Part.TASK}), frozenset(), memories=0),
    RecallRole.GENERATOR: RolePolicy(frozenset({Part.TASK, Part.CURRENT}), frozenset({Kind.FORMAT})),
}


def policy_of(role: RecallRole | str) -> RolePolicy:
    """Return what a role sees.

    Raises:
        ValueError: The role is unknown; there is no policy to fall back on.
    """
    return POLICIES[RecallRole(role)]
