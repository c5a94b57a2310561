"""Making a person's words harmless inside a labelled context: one line, nothing hidden, no brackets with a meaning."""

import re
import unicodedata
from typing import Final

# Every bracket that is, or looks like, one that opens or closes a label, a tag or a control token of a chat template.
_LESS = "<\u02c2\u1438\u2039\u276c\u276e\u2770\u27e8\u2329\u3008\ufe3f\ufe64\uff1c\U0001d236"
_GREATER = ">\u02c3\u1433\u203a\u276d\u276f\u2771\u27e9\u232a\u3009\ufe40\ufe65\uff1e\U0001d237"
_SQUARE = {"[": "&#91;", "\uff3b": "&#91;", "\ufe47": "&#91;", "]": "&#93;", "\uff3d": "&#93;", "\ufe48": "&#93;"}
_BRACKETS: Final = str.maketrans(dict.fromkeys(_LESS, "&lt;") | dict.fromkeys(_GREATER, "&gt;") | _SQUARE)

_ENTITY = re.compile(r"&(?=(?:lt|gt|amp|#\w+);)", re.IGNORECASE)
# Seen by a model and by nobody else: fillers, blanks, joiners, variation selectors (they can carry whole hidden texts).
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_MARKER = re.compile("(cenotaph)-(context)", re.IGNORECASE)
_HIDDEN: Final = frozenset({"Cf", "Co", "Cn"})
_GAP: Final = frozenset({"Cc", "Zl", "Zp", "Zs"})


def escape(text: str) -> str:
    """Return the text as one line that shows all it holds.

    Line ends, control characters and every kind of space become single spaces; bidirectional marks, zero-width and
    other unseen characters go; angle and square brackets and their look-alikes become entities; the name of our own
    marker is broken. Escaping again would escape the entities, so it is done once, where a line is written.
    """
    kept = []
    for character in _UNSEEN.sub("", text):
        category = unicodedata.category(character)
        if category in _GAP:
            kept.append(" ")
        elif category == "Cs":
            kept.append("\ufffd")
        elif category not in _HIDDEN:
            kept.append(character)
    line = " ".join("".join(kept).split())
    return _MARKER.sub(r"\1 \2", _ENTITY.sub("&amp;", line).translate(_BRACKETS))
