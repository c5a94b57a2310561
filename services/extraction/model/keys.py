"""Semantic keys as a model names them, brought to the vocabulary: a key that is not in it is none."""

from functools import lru_cache

from events.model import Kind
from services.extraction.normalise import normalise
from services.extraction.vocabulary import open_names, taste_of, topics, vocabulary


def key_of(named: str | None, value: str) -> str | None:
    """Return the key of the vocabulary that is meant, or None.

    Args:
        named: a key, or what the vocabulary calls it in Chinese or English; an open key may name its topic by any word.
        value: the folded value; it decides which taste is meant.
    """
    if named is None:
        return None
    key = _names().get(name := normalise(named).folded.strip(), name)
    if key.startswith("taste."):
        return taste_of(value)
    if key in vocabulary():
        return key
    topic, dot, aspect = key.rpartition(".")
    known, aspects = open_names()
    if not dot or aspect not in aspects:
        return None
    found = [topic] if topic in known else [each.name for each in topics(topic.replace("_", " "))]
    return f"{found[-1]}.{aspect}" if found else None


def kind_of(key: str | None, kind: Kind) -> Kind:
    """Return the kind of a claim on a key: the vocabulary's where the key has a name of its own."""
    named = vocabulary().get(key or "")
    return named.kind if named else kind


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    return {name.lower(): key for key, entry in vocabulary().items() for name in (entry.zh, entry.en)}
