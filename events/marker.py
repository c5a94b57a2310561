"""The lines around a compiled context, by which the write path knows our own words when they come back in a turn.

Whatever stands between them was recalled, not said: its origin is `injected`, and nothing in it may become a memory
again.
"""

import re
from typing import Final

BEGIN: Final = "<cenotaph-context>"
END: Final = "</cenotaph-context>"

# A framework may have indented, wrapped or escaped the text on its way; the name is what counts.
_EDGE = re.compile(r"(?:<|&lt;)\s*(/?)\s*cenotaph-context\b[^<>&]*(?:>|&gt;)", re.IGNORECASE)


def injected_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of compiled contexts in a text, in order, as [start, end).

    A context without its end runs to the end of the text, and an end without a beginning back to the start or to the
    context before it: who cuts a context in half must not thereby turn memories into statements.
    """
    spans: list[tuple[int, int]] = []
    start: int | None = None
    for edge in _EDGE.finditer(text):
        if not edge[1]:
            start = edge.start() if start is None else start
        else:
            spans.append((start if start is not None else spans[-1][1] if spans else 0, edge.end()))
            start = None
    return spans if start is None else [*spans, (start, len(text))]
