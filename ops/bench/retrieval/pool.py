"""What is searched and what is asked of it, in one form for all sets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Final, Literal

Half = Literal["tune", "hold"]
_SEED: Final = 1


@dataclass(frozen=True, slots=True)
class Item:
    """One message, imported as a turn of its own; `speaker` is named in its text where two persons talk."""

    item_id: str
    session: str
    at: datetime
    text: str
    speaker: str = ""

    @property
    def said(self) -> str:
        """The text with its speaker."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, which items answer it, and the number of the conversation it belongs to."""

    text: str
    evidence: frozenset[str]
    category: str
    conversation: int


@dataclass(frozen=True, slots=True)
class Pool:
    """The history of one person, in order of time, and the questions about it."""

    name: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]


def half_of(pools: Sequence[Pool], half: Half | None) -> list[Pool]:
    """Keep the questions of every second conversation: the even ones to tune on, the odd ones to report."""
    if half is None:
        return list(pools)
    rest = int(half == "hold")
    kept = [
        replace(pool, questions=tuple(each for each in pool.questions if each.conversation % 2 == rest))
        for pool in pools
    ]
    return [pool for pool in kept if pool.questions]


def sample(pools: Sequence[Pool], limit: int | None) -> list[Pool]:
    """Choose so many pools, the same ones every time, in their order."""
    if limit is None or limit >= len(pools):
        return list(pools)
    chosen = sorted(Random(_SEED).sample(range(len(pools)), limit))  # noqa: S311 - a sample, not a secret
    return [pools[number] for number in chosen]
