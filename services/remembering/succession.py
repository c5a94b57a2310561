"""How likely a later statement makes a memory untrue though it may name neither the thing nor the old value. Pure.

Logistic regression over named features; weights and threshold are in policy.yaml, learnt by
`ops/bench/governance/succession.py`. No closeness of vectors tells another value of one thing from a like sentence
about another thing: what speaks for a change, and what ties it to the memory, are words; the cosine is one witness.
"""

from collections.abc import Mapping
from math import exp
from typing import Final

from services.extraction.signs import Saying, Signs, counts_of, signs_of
from services.extraction.wording import is_chinese
from services.governance.folding import plain
from services.governance.sameness import tokens_of

FEATURES: Final = (
    "changed",
    "now",
    "done",
    "gone",
    "added",
    "once",
    "anchor",
    "old",
    "ended",
    "renamed",
    "of_old",
    "another",
    "repeated",
    "unlike",
    "fields",
    "foreign",
    "others",
    "turned",
    "told",
    "matched",
    "tied",
    "cosine",
    "across",
    "english",
)
_LIGHT = frozenset(
    [
        *(
            "the",
            "a",
            "an",
            "is",
            "are",
            "on",
            "in",
            "at",
            "of",
            "to",
            "my",
            "our",
            "for",
            "and",
            "it",
            "i",
            "we",
            "with",
            "by",
        ),
        "了",
        "在",
        "是",
        "有",
        "每",
        "个",
        "都",
    ]
)
_CHILDREN = frozenset({"son", "daughter"})
_FIELDS: Final = {
    "work.role": frozenset({"job"}),
    "work.employer": frozenset({"job"}),
    "work.place": frozenset({"office"}),
    "home.city": frozenset({"home"}),
    "routine.commute": frozenset({"commute"}),
    "tool.car": frozenset({"drive"}),
    "tool.phone": frozenset({"phone"}),
}
_HALF = 0.5
_STRANGE = 0.6
_CLOSE = 0.5
_CLASS = {"clock": "hour", "daytime": "hour", "weekday": "day", "turn": "day", "date": "day"}
_HEAD = 2
_MANY = 2  # so many words, or parts of life, in common are as good as more


def features(
    said: str, content: str, value: str, cosine: float, *, pointed: bool = False, key: str | None = None
) -> dict[str, float]:
    """Return what speaks for and against one statement taking the place of a memory, each in [-1, 1].

    Args:
        said: the later statement.
        content: what the memory says.
        value: the value of the memory; where it is the whole content it names nothing apart.
        cosine: of the vectors of the two texts.
        key: of the memory: it says which part of life that is about where its words do not.
        pointed: the memory rests on what was said just before, so that "it" is its thing.
    """
    later, older = plain(said), plain(content)
    old_words = plain(value)
    named = old_words != older
    new, known = signs_of(later), signs_of(older)
    fields = known.fields | _FIELDS.get(key or "", frozenset())
    old = share(old_words, later) if named else 0.0
    thing = _words(older) - (_words(old_words) if named else frozenset())
    anchor, foreign, of_old = _things(new, known, older, old_words if named else "")
    if pointed and all(each.thing is None and each.other is None for each in new.telling):
        anchor = 1.0
    cues = new.cues
    before, after = _classes(known, old_words if named else older), _classes(new, later)
    differs = [name for name, values in before.items() if after.get(name, frozenset()) - values]
    equal = [name for name in before if name not in differs and name in after]
    found = {
        "changed": "changed" in cues,
        "now": "now" in cues,
        "done": "done" in cues,
        "gone": "gone" in cues,
        "added": "added" in cues,
        "once": all("once" in each.cues for each in new.telling),
        "anchor": max(anchor, min(1.0, len(thing & _words(later)) / _MANY)),
        "old": old,
        "ended": old * ("gone" in cues),
        "renamed": old * ("renamed" in cues),
        "of_old": of_old,
        "another": bool(differs),
        "repeated": bool(equal),
        "unlike": bool(before) and not differs and old < _HALF,
        "fields": min(1.0, len(new.fields & fields) / _MANY),
        "foreign": foreign,
        "others": _others(new) - _family(_others(known)) != frozenset(),
        "told": bool(cues & {"changed", "now", "gone", "renamed"}),
        "turned": "denied" in known.cues and "denied" not in cues and max(old, anchor) > 0,
        "cosine": cosine,
        "across": is_chinese(later) != is_chinese(older),
        "english": not is_chinese(later),
    }
    if differs or found["turned"]:
        found["of_old"] = 0.0
    if found["ended"] + found["renamed"] >= _HALF:  # what is named beside the old one that is gone is the new one
        found["foreign"] = 0.0
    before_count, after_count = counts_of(older), counts_of(later)
    recounted = any(after_count.get(unit, number) != number for unit, number in before_count.items())
    named_sort = _HALF * any("." in name or name == "grade" for name in differs)
    tie = max(named_sort, _HALF * recounted, *(float(found[name]) for name in ("anchor", "fields", "ended", "renamed")))
    found |= {"tied": tie, "matched": float(found["another"]) * tie}
    return {name: float(found[name]) for name in FEATURES}


def tells(said: str) -> bool:
    """Say whether a text tells of any change at all, so that the rest need not be looked at."""
    return signs_of(plain(said)).tells


def barred(found: Mapping[str, float]) -> bool:
    """Say whether a sign rules it out that a statement takes the place of a memory, whatever else speaks for it.

    It is about somebody else or another thing, meant for once, about the old value in another respect, one more beside
    the old, tied to the memory by nothing, or tells of no change.
    """
    ended = found["ended"] + found["renamed"] >= _HALF
    return (
        found["others"] > 0
        or found["once"] > 0
        or found["of_old"] > 0
        or (found["foreign"] > _STRANGE and not ended)
        or (found["added"] > 0 and not ended and not found["turned"])
        or (found["tied"] == 0 and found["cosine"] < _CLOSE)
        or not (found["told"] or (found["done"] and found["matched"] >= _HALF))
    )


def likelihood(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the probability that goes with some features, from their weights and `bias`; 0 where a sign bars it."""
    if barred(found):
        return 0.0
    total = weights["bias"] + sum(weights[name] * found[name] for name in FEATURES)
    return 1 / (1 + exp(-total))


def share(part: str, whole: str) -> float:
    """Return how much of a text, by its words or Chinese characters, stands in another."""
    there, words = whole, frozenset(tokens_of(whole))
    found = [
        hit
        for token in tokens_of(part)
        for hit in ((char in there for char in token) if is_chinese(token) else (token in words,))
    ]
    return sum(found) / len(found) if found else 0.0


def _classes(signs: Signs, within: str) -> dict[str, frozenset[str]]:
    """Return the values that stand in a stretch of a text, by what excludes each other: an hour, a day, a tool."""
    found: dict[str, frozenset[str]] = {}
    for name, values in signs.sorts.items():
        if there := frozenset(value for value in values if value in within):
            kind = _CLASS.get(name, name)
            found[kind] = found.get(kind, frozenset()) | there
    return found


def _things(new: Signs, known: Signs, older: str, old: str) -> tuple[float, float, float]:
    """Return how far clauses that tell of a change are about the memory's thing, another one, or the old value."""
    anchor = 0.0
    strange: list[float] = []
    for each in new.telling:
        met, apart = _thing(each, known, older, old)
        anchor = max(anchor, met)
        strange.append(apart)
    subjects = [each.thing for each in new.telling]
    of_old = all(thing is not None and old and share(thing, old) >= _HALF for thing in subjects) and bool(subjects)
    return anchor, min(strange, default=0.0), float(of_old and not new.cues & {"gone", "renamed"})


def _thing(saying: Saying, known: Signs, older: str, old: str) -> tuple[float, float]:
    if saying.thing is None:
        return 0.0, 0.0
    inside = share(saying.thing, older)
    if inside == 1 or (saying.other is not None and {saying.other} <= _family(_others(known))):
        return 1.0, 0.0
    if old and max(share(saying.thing, old), share(old, saying.thing)) >= _HALF:
        return 0.0, 0.0
    if inside == 0 and signs_of(saying.thing).fields & known.fields:  # another word for it
        return _HALF, 0.0
    if inside and share(_head(saying.thing), older) == 1:  # a narrower name: "work phone" where "phone" is known of
        return 0.0, 1.0
    return inside / 2, 1 - inside


def _head(thing: str) -> str:
    """Return the word, or Chinese characters, that a name of a thing ends in: what sort of thing it is."""
    return thing[-_HEAD:] if is_chinese(thing) else thing.rsplit(maxsplit=1)[-1]


def _others(signs: Signs) -> frozenset[str]:
    """Return who else each clause that tells something is about; nobody where one is about the person."""
    found = [each.other for each in signs.telling]
    return frozenset() if None in found else frozenset(each for each in found if each is not None)


def _family(others: frozenset[str]) -> frozenset[str]:
    """Add the children that "the child" may be, and the other way round."""
    return others | (_CHILDREN if "child" in others else {"child"} if others & _CHILDREN else frozenset())


def _words(folded: str) -> frozenset[str]:
    found: set[str] = set()
    for token in tokens_of(folded):
        if is_chinese(token) and len(token) > 1:
            found.update(token[at : at + 2] for at in range(len(token) - 1))
        elif token not in _LIGHT:
            found.add(token)
    return frozenset(found)
