"""What a query asks: the whole of it, and each question in it where it asks several or says something beside it.

"We are off to Leeds. When does my train go? And who feeds the cat?" has one vector that is near to none of its answers.
So each question is looked for by itself too, and what answers the whole or any of them counts:

r(d) = (Σ over aspects a of (r_a(d) / max r_a)^n)^(1/n), brought back into [0, 1] by its greatest        n: `Blend.norm`

A dialogue, of several lines, is asked about at its end, so it stays one (`meaning.py`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from services.recall.blend import Blend, lines_of
from services.recall.bm25 import Key
from services.recall.fusion import bounded

MOST: Final = 3
"""Questions of one query that are looked for by themselves, the last ones; each costs an embedding and a search."""

_SENTENCE: Final = re.compile(r"(?:[^。！？!?；;.]|\.(?!\s))+[。！？!?；;.]*")
_ASKS: Final = ("?", "？")
_SAYS: Final = re.compile(r"\w")


def aspects_of(query: str) -> tuple[str, ...]:
    """Return what to look for: the query itself, then the last questions in it, in their order."""
    sentences = [match.strip() for match in _SENTENCE.findall(query) if _SAYS.search(match)]
    if len(sentences) < 2 or len(lines_of(query)) > 1:  # noqa: PLR2004 - several
        return (query,)
    questions = list(dict.fromkeys(each for each in sentences if each.endswith(_ASKS)))
    return (query, *questions[-MOST:])


def joined(relevance: Sequence[Mapping[Key, float]], blend: Blend) -> dict[Key, float]:
    """Return one relevance in [0, 1] of those to several aspects, which all know the same memories.

    That of one aspect stays as it is.
    """
    if len(relevance) == 1:
        return dict(relevance[0])
    best = [max(each.values(), default=0.0) or 1.0 for each in relevance]
    return bounded(
        {
            key: sum((each[key] / most) ** blend.norm for each, most in zip(relevance, best, strict=True))
            ** (1 / blend.norm)
            for key in relevance[0]
        }
    )
