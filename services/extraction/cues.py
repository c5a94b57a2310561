"""Stage 3: what colours a claim: for good or for once, planned, denied, unsure, a joke, a request to remember."""

import re
from enum import StrEnum
from functools import lru_cache

from services.extraction.lexicon import compiled, load


class Tempo(StrEnum):
    """For how long something is meant."""

    STANDING = "standing"
    ONCE = "once"
    NONE = "none"


@lru_cache(maxsize=1)
def lexicon() -> dict[str, re.Pattern[str]]:
    """Return the compiled cue lexicon, by name of the cue."""
    lists: dict[str, list[str]] = load("cues.yaml")
    return {name: compiled(words) for name, words in lists.items()}


def has(cue: str, text: str) -> bool:
    """Say whether a cue occurs in a folded text."""
    return lexicon()[cue].search(text) is not None


def starts(cue: str, text: str) -> bool:
    """Say whether a folded text begins with a cue."""
    return lexicon()[cue].match(text) is not None


def tempo(clauses: list[str], index: int) -> Tempo:
    """Say for how long the clause at `index` is meant.

    The clause's own cue counts; then the nearest before it, which still governs; then the one after it ("…, always").
    Where both stand in one clause, for good wins: "this time I mean it for good".
    """
    own = _own(clauses[index])
    if own is not Tempo.NONE:
        return own
    order = [*range(index - 1, -1, -1), *range(index + 1, len(clauses))]
    return next((found for i in order if (found := _own(clauses[i])) is not Tempo.NONE), Tempo.NONE)


def _own(clause: str) -> Tempo:
    if has("residual", clause):
        return Tempo.NONE
    if has("once_only", clause) and not has("strong", clause):
        return Tempo.ONCE
    if has("standing", clause):
        return Tempo.STANDING
    return Tempo.ONCE if has("once", clause) else Tempo.NONE
