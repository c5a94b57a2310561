"""From what was stored, in the form of its day, to the vocabulary of today (R7).

Stored bytes never change. A type whose fields change gets the next `schema_version`, and here a step that turns the old
form into the new one. Steps are pure, from dict to dict, and are chained when an event is read.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import ValidationError

from events.errors import TamperError, UnknownEventError
from events.model import EVENT_TYPES, Event

Document = dict[str, Any]


def unchanged(document: Document) -> Document:
    """Leave a half of an event that a new version did not touch as it is."""
    return document


@dataclass(frozen=True, slots=True)
class Step:
    """How one version of a type becomes the next.

    Args:
        data: the clear half.
        parts: sealed parts, by kind: the part's name up to the colon (`memory`, `index`, `message`).
    """

    data: Callable[[Document], Document] = unchanged
    parts: Mapping[str, Callable[[Document], Document]] = field(default_factory=dict)


Steps = Mapping[tuple[str, int], Step]


class Vocabulary:
    """The types of today, and the steps that lead to them from every version ever written.

    Args:
        types: the class of each type's newest version.
        steps: by type and version what leads from there to the next version.

    Raises:
        ValueError: a chain has a gap, or a step leads nowhere.
    """

    def __init__(self, types: Iterable[type[Event]], steps: Steps) -> None:
        self._types = {cls.type: cls for cls in types}
        self._steps = dict(steps)
        needed = {(name, old) for name, cls in self._types.items() for old in range(1, cls.schema_version)}
        if wrong := needed ^ self._steps.keys():
            names = ", ".join(f"{name} v{version}" for name, version in sorted(wrong))
            raise ValueError(f"each version older than today's needs exactly one step; missing or idle: {names}")

    def event(self, event_type: str, schema_version: int, data: Document, position: int | None = None) -> Event:
        """Read the clear half of a stored event.

        Raises:
            UnknownEventError: this build does not know the type or the version.
            TamperError: the data do not have the form of their version.
        """
        for step in self._chain(event_type, schema_version, position):
            data = step.data(data)
        try:
            return self._types[event_type].model_validate(data)
        except ValidationError:
            raise TamperError(
                f"{_at(position)}event {event_type} v{schema_version} does not have the form of its version"
            ) from None

    def body(self, event_type: str, schema_version: int, part: str, plaintext: bytes) -> bytes:
        """Bring an opened body part, JSON, to the form of today.

        Raises:
            UnknownEventError: this build does not know the type or the version.
        """
        kind = part.partition(":")[0]
        changes = [step.parts[kind] for step in self._chain(event_type, schema_version, None) if kind in step.parts]
        if not changes:
            return plaintext
        document = orjson.loads(plaintext)
        for change in changes:
            document = change(document)
        return orjson.dumps(document)

    def _chain(self, event_type: str, schema_version: int, position: int | None) -> list[Step]:
        cls = self._types.get(event_type)
        if cls is None or not 1 <= schema_version <= cls.schema_version:
            raise UnknownEventError(event_type, schema_version, position)
        return [self._steps[event_type, version] for version in range(schema_version, cls.schema_version)]


def _at(position: int | None) -> str:
    return "" if position is None else f"position {position}: "


def _said_by_the_person(memory: Document) -> Document:
    """Say of a memory from before business systems stated facts that the person said it."""
    return {**memory, "said_by": None}


def _counted_as_none(tombstone: Document) -> Document:
    """Say of all of a person or a tenant what its receipt said when nobody counted: none."""
    whole = tombstone.get("scope") in {"person", "tenant"}
    return {**tombstone, "counted": {"memories": 0, "messages": 0} if whole else None}


def _begun_in_a_project(task: Document) -> Document:
    """Say in the words of today which readers a task was begun for: of its project."""
    return {
        **{name: each for name, each in task.items() if name != "project"},
        "audience": {"project": task["project"]},
    }


STEPS: Steps = {
    ("consent_given", 1): Step(),  # it was for any purpose
    ("accepted", 5): Step(),  # nobody had moved anything
    # nothing was for one assistant or for one purpose
    ("accepted", 4): Step(),
    ("not_written", 4): Step(),
    ("turn_finalized", 5): Step(),
    ("task_started", 2): Step(_begun_in_a_project),
    # nothing was said in a project or for one task
    ("accepted", 3): Step(lambda old: {**old, "audience": {}}),
    ("not_written", 5): Step(lambda old: {**old, "confidence": 0, "importance": 0}),  # how sure it was went unrecorded
    ("not_written", 3): Step(lambda old: {**old, "repeats": None}),  # what it said again was not noted
    ("not_written", 2): Step(lambda old: {**old, "audience": {}}),
    ("turn_finalized", 3): Step(lambda old: {**old, "audience": {}}),
    ("task_started", 1): Step(lambda old: {**old, "project": None}),
    # nobody knows any more who asked for it; what may have been asked for is kept
    ("accepted", 1): Step(lambda old: {**old, "explicit": True}),
    ("accepted", 2): Step(parts={"memory": _said_by_the_person}),
    ("not_written", 1): Step(parts={"memory": _said_by_the_person}),
    ("turn_finalized", 4): Step(lambda old: {**old, "rests_on": ()}),  # upkeep made nothing of what was said
    ("turn_finalized", 2): Step(),  # no message of then came from a business system
    ("reinforced", 1): Step(lambda old: {**old, "explicit": False}),
    ("expired", 1): Step(lambda old: {**old, "reason": "time"}),
    ("task_completed", 1): Step(lambda old: {**old, "way": None}),  # nobody compared the ways of rounds
    ("turn_finalized", 1): Step(lambda old: {**old, "task": None}),  # no turn closed a task
    ("turn_considered", 1): Step(
        lambda old: {**old, "fallback": None, "notes": {}}
    ),  # no extractor stood in for another
    ("suppression_asked", 1): Step(lambda old: {**old, "cites": ()}),  # none was said in a conversation
    ("erasure_verified", 1): Step(),  # there was one receipt only
    ("tombstoned", 1): Step(),  # it always was one memory
    ("tombstoned", 2): Step(_counted_as_none),
}
"""What happened to the vocabulary since its events were first written."""

TODAY = Vocabulary(EVENT_TYPES.values(), STEPS)
