from typing import Any, ClassVar

import orjson
import pytest

from events.errors import TamperError, UnknownEventError
from events.lift import TODAY, Step, Vocabulary
from events.model import EVENT_TYPES, Event, MemoryId
from tests.unit.events.samples import fixed

MEMORY = MemoryId(fixed(4))


class Praised(Event):
    """A made-up type in its third version: v1 had 0 to 5 `stars`, v2 called them `score`, v3 counts thousandths."""

    type = "praised"
    schema_version: ClassVar[int] = 3
    memory_id: MemoryId
    score: int
    by: str


def renamed(old: dict[str, Any]) -> dict[str, Any]:
    return {"memory_id": old["memory_id"], "score": old["stars"], "by": "unknown"}


def rescaled(old: dict[str, Any]) -> dict[str, Any]:
    return {**old, "score": old["score"] * 200}


def translated(old: dict[str, Any]) -> dict[str, Any]:
    return {"content": old["text"]}


BOOK = Vocabulary(
    [Praised],
    {
        ("praised", 1): Step(renamed, {"memory": translated}),
        ("praised", 2): Step(rescaled, {"memory": lambda old: {**old, "language": "zh"}}),
    },
)


@pytest.mark.parametrize(
    ("version", "data", "score", "by"),
    [
        (1, {"memory_id": str(MEMORY), "stars": 4}, 800, "unknown"),
        (2, {"memory_id": str(MEMORY), "score": 3, "by": "user"}, 600, "user"),
        (3, {"memory_id": str(MEMORY), "score": 950, "by": "user"}, 950, "user"),
    ],
)
def test_every_version_is_lifted_step_by_step(version: int, data: dict[str, Any], score: int, by: str) -> None:
    """An event of any version ever written is read as the type of today, through each step from its own version on."""
    before = dict(data)
    assert BOOK.event("praised", version, data) == Praised(memory_id=MEMORY, score=score, by=by)
    assert data == before


def test_sealed_parts_are_lifted_with_their_event() -> None:
    """A part follows the version of its event; a part no step names, and one of today, keep their very bytes."""
    old = orjson.dumps({"text": "喜欢北京烤鸭"})
    assert orjson.loads(BOOK.body("praised", 1, "memory", old)) == {"content": "喜欢北京烤鸭", "language": "zh"}
    assert orjson.loads(BOOK.body("praised", 2, "memory:1", b'{"content": "x"}'))["language"] == "zh"
    assert BOOK.body("praised", 1, "index", old) == old
    assert BOOK.body("praised", 3, "memory", old) == old


@pytest.mark.parametrize(("kind", "version"), [("praised", 4), ("praised", 0), ("dreamt", 1)])
def test_an_unknown_event_is_refused_by_name(kind: str, version: int) -> None:
    """A type or version from the future is an error that names it and its position, never a guess."""
    with pytest.raises(UnknownEventError, match=rf"position 17: unknown event {kind} v{version}"):
        BOOK.event(kind, version, {}, 17)
    with pytest.raises(UnknownEventError, match=f"unknown event {kind} v{version}"):
        BOOK.body(kind, version, "memory", b"{}")


def test_data_of_a_wrong_form_are_tampering_and_are_not_repeated() -> None:
    """What does not have the form of its version is named by type, version and position, without what it holds."""
    with pytest.raises(TamperError, match="position 5: event praised v3 does not have the form") as caught:
        BOOK.event("praised", 3, {"memory_id": "secret words"}, 5)
    assert "secret words" not in str(caught.value)


@pytest.mark.parametrize(
    "steps", [{("praised", 1): Step()}, {("praised", n): Step() for n in (1, 2, 3)}, {("dreamt", 1): Step()}]
)
def test_a_chain_with_a_gap_or_an_idle_step_is_refused(steps: dict[tuple[str, int], Step]) -> None:
    """A vocabulary cannot be made that would fail only when it meets an old event."""
    with pytest.raises(ValueError, match="exactly one step"):
        Vocabulary([Praised], steps)


def test_the_vocabulary_of_today_is_whole() -> None:
    """Every type and version the model lists is known, by its name."""
    for kind, version in EVENT_TYPES:
        with pytest.raises(TamperError):
            TODAY.event(kind, version, {"no such field": 1})
