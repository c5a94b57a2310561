"""Which topics of the vocabulary a text, or a memory under its key, is about."""

import re
from functools import lru_cache

from services.extraction.lexicon import compiled
from services.extraction.normalise import normalise
from services.extraction.vocabulary import topics, vocabulary

_ROOTS = frozenset({"taste", "tool", "identity", "statement", "content", "order", "is", "has"})
"""Parts of keys that say what sort of claim it is, not what it is about."""


def subjects_of(text: str, key: str | None = None) -> frozenset[str]:
    """Return the topics a text names, and the parts of its semantic key; `drink` is a topic as `taste.drink` is."""
    folded = normalise(text).folded
    named = {topic.name for topic in topics(folded)}
    for name, pattern in _key_names().items():
        if pattern.search(folded):
            named.update(name.split("."))
    return frozenset(named | set((key or "").split("."))) - _ROOTS - {""}


@lru_cache(maxsize=1)
def _key_names() -> dict[str, re.Pattern[str]]:
    return {name: compiled([entry.zh, entry.en]) for name, entry in vocabulary().items()}
