"""Replace secrets before anything is stored (R10)."""

import re

from events.model import Frozen
from services.governance.folding import fold
from services.governance.phrases import phrases
from services.governance.recognisers import SHAPES, Found

_MARK = re.compile(r"\[secret:[a-z_]+\]")
_FINDERS = (*SHAPES, phrases)


class Redacted(Frozen):
    """A text without its secrets, and the classes of what was replaced, sorted."""

    text: str
    classes: tuple[str, ...]


def redact(text: str) -> Redacted:
    """Replace every secret by `[secret:class]`.

    Repeats until nothing is found, so that redacting twice is redacting once: a replacement can uncover its neighbour.
    """
    classes: set[str] = set()
    while found := _outermost(text):
        parts: list[str] = []
        position = 0
        for start, end, label in found:
            parts += (text[position:start], f"[secret:{label}]")
            position = end
            classes.add(label)
        text = "".join((*parts, text[position:]))
    return Redacted(text=text, classes=tuple(sorted(classes)))


def has_secret(text: str) -> bool:
    """Say whether a secret is left in a text."""
    return bool(_outermost(text))


def _outermost(text: str) -> list[Found]:
    """Return disjoint findings in original offsets; of two that overlap the earlier and longer one stays."""
    folded = fold(text)
    if not folded.text:
        return []
    marked = bytearray(len(folded.text))
    for mark in _MARK.finditer(folded.text):
        marked[mark.start() : mark.end()] = b"\x01" * len(mark.group())
    found = sorted(
        (hit for finder in _FINDERS for hit in finder(folded.text) if not any(marked[hit.start : hit.end])),
        key=lambda hit: (hit.start, -hit.end),
    )
    disjoint: list[Found] = []
    covered = 0
    for hit in found:
        if hit.start >= covered:
            disjoint.append(Found(*folded.span(hit.start, hit.end), hit.label))
            covered = hit.end
    return disjoint
