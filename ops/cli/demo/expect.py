"""How far what was kept agrees with what a careful reader expects (tests/golden/README.md), as pure functions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cenotaph import answers
from events.model import Frozen

_VERSIONS = frozenset({"active", "superseded", "in_conflict"})


class Expectation(Frozen):
    """One entry of the reader's list."""

    turn_id: str
    expect: Literal["kept", "reinforced", "superseded", "held", "refused", "nothing"]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Observed:
    """What the system made of the conversation: the outcome of each turn, and every memory version of any status."""

    outcomes: Mapping[str, answers.Outcome]
    memories: Sequence[answers.Memory]


def expectations(file: Path) -> list[Expectation]:
    """Read the reader's list."""
    return [Expectation.model_validate(entry) for entry in json.loads(file.read_text(encoding="utf-8"))]


def met(wanted: Expectation, seen: Observed) -> bool:
    """Say whether one expectation came true."""
    words = wanted.words
    match wanted.expect:
        case "kept":
            return any(
                memory.status in _VERSIONS and says(memory, words) for memory in _citing(seen.memories, wanted.turn_id)
            )
        case "held":
            held = any(
                memory.status == "held" and says(memory, words) for memory in _citing(seen.memories, wanted.turn_id)
            )
            return held and not any(memory.status == "active" and says(memory, words) for memory in seen.memories)
        case "reinforced":
            again = {v.memory_id for v in seen.outcomes[wanted.turn_id].verdicts if v.outcome == "reinforced"}
            return any(memory.memory_id in again and says(memory, words) for memory in seen.memories)
        case "superseded":
            renewed = {v.memory_id for v in seen.outcomes[wanted.turn_id].verdicts if (v.version or 0) > 1}
            return any(
                memory.memory_id in renewed and memory.status == "superseded" and says(memory, words)
                for memory in seen.memories
            )
        case "refused":
            return not any(says(memory, words) for memory in seen.memories)
        case "nothing":
            return not any(_citing(seen.memories, wanted.turn_id))


def wrongly_kept(wanted: Expectation, seen: Observed) -> bool:
    """Say whether something that must not become a memory is an active one."""
    active = [memory for memory in seen.memories if memory.status == "active"]
    if wanted.expect == "refused":
        return any(says(memory, wanted.words) for memory in active)
    return wanted.expect == "nothing" and any(_citing(active, wanted.turn_id))


def says(memory: answers.Memory, words: Iterable[str]) -> bool:
    """Say whether a memory holds one of the words, in its value or content."""
    text = f"{memory.value or ''}\n{memory.content or ''}".casefold()
    return any(word.casefold() in text for word in words)


def _citing(memories: Iterable[answers.Memory], turn_id: str) -> list[answers.Memory]:
    return [memory for memory in memories if any(source.turn_id == turn_id for source in memory.sources)]
