"""Labelled scenarios of the write path: what is said, what the person does about it, what must and must not remain."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from events.errors import BadInputError
from events.model import Frozen, Kind, Origin, Role, TurnStatus
from services.wire.recall import RecallRole

Words = Annotated[tuple[str, ...], Field(min_length=1)]


class MessageSaid(Frozen):
    """One message of a scenario's turn."""

    id: str
    role: Role
    origin: Origin
    content: str


class TurnSaid(Frozen):
    """One turn; `at` is when it happened, which may be before what was delivered earlier."""

    id: str
    session: str
    at: datetime
    status: TurnStatus
    messages: tuple[MessageSaid, ...]


class Action(Frozen):
    """What the person does after a turn: forget by description, consent to a class, say not to remember something."""

    after: str
    do: Literal["forget", "consent", "suppress"]
    query: str = ""
    kind: str = ""


class Rule(Frozen):
    """A memory fits if its kind is one of `kind`, and it holds a string of `any` and none of `none`."""

    any: Words
    none: tuple[str, ...] = ()
    kind: tuple[Kind, ...] = ()
    reason: str | None = None


class ContextCheck(Frozen):
    """What a context compiled for a query under a role must and must not hold."""

    query: str
    role: RecallRole
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()


class Expectation(Frozen):
    """What a careful reader expects; each part may be left out."""

    active: tuple[Rule, ...] = ()
    inactive: tuple[Rule, ...] = ()
    held: tuple[Rule, ...] = ()
    superseded: tuple[Rule, ...] = ()
    never_stored: tuple[str, ...] = ()
    max_active: int | None = None
    context: tuple[ContextCheck, ...] = ()


class Scenario(Frozen):
    """One labelled scenario."""

    id: str
    lang: Literal["zh", "en", "mixed"]
    area: str
    why: str
    turns: Annotated[tuple[TurnSaid, ...], Field(min_length=1)]
    actions: tuple[Action, ...] = ()
    expect: Expectation


class Remembered(Frozen):
    """A memory as the scorer sees it."""

    kind: str
    content: str | None
    value: str | None
    status: str
    reason: str | None = None


class Compiled(Frozen):
    """A context that was asked for."""

    query: str
    role: str
    text: str


class Hit(Frozen):
    """A string that must never be stored, and the store it was found in."""

    needle: str
    store: str


class Result(Frozen):
    """What a scenario left behind."""

    id: str
    memories: tuple[Remembered, ...]
    contexts: tuple[Compiled, ...]
    raw_dump_hits: tuple[Hit, ...] = ()


_SCENARIO = TypeAdapter(Scenario)


def read_scenarios(path: Path) -> list[Scenario]:
    """Read a file of scenarios, one JSON object a line.

    Raises:
        BadInputError: it cannot be read, a line is no scenario, or an id comes twice.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {type(error).__name__}") from error
    found: list[Scenario] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(_SCENARIO.validate_json(line))
        except ValidationError as error:
            place = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise BadInputError(f"{path}, line {number} is no scenario: {place}: {error.errors()[0]['msg']}") from error
    twice = {each.id for each in found if sum(other.id == each.id for other in found) > 1}
    if not found or twice:
        raise BadInputError(f"{path} holds no scenarios" if not found else f"{path} has ids twice: {sorted(twice)}")
    return found


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Write results, one JSON object a line."""
    lines = (json.dumps(each.model_dump(mode="json"), ensure_ascii=False) for each in results)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def subset(scenarios: Sequence[Scenario], count: int, seed: int) -> list[Scenario]:
    """Choose some scenarios by a seed, in the order of the file: the same seed and file give the same ones."""
    chosen = set(Random(seed).sample(range(len(scenarios)), min(count, len(scenarios))))  # noqa: S311 - a reproducible choice
    return [each for number, each in enumerate(scenarios) if number in chosen]
