"""When two claims speak of the same thing, and when they say the same of it.

No embedding at hand separates "likes X" from "hates X" or from "likes Y", so sameness is symbolic: polarity, numbers,
named values and words must agree.
"""

import re
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

import snowballstemmer
import yaml

from events.model import Claim, Kind
from services.governance.folding import plain

_STEM = snowballstemmer.stemmer("english")
_TOKEN = re.compile(r"[0-9]+(?:[.,:][0-9]+)*|[^\W\d_]+(?:['’][a-z]+)?", re.UNICODE)
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
_HAS_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_FILLER = re.compile(
    "an?|the|my|our|your|of|in|on|at|to|for|and|all|any|every|please|me|i|is|are|do|be|its?|just|also|always|use|using"
)
_CJK_FILLERS = re.compile(
    r"尽可能|尽量|使用|(?<![信费作采适利公])用(?![户具途法品量心餐途])|[的了吧呢啊呀嘛都就请我您你要把给也很]"
)
_SORT = re.compile(  # stems that say what sort of thing a plan is about, not what it is about
    "cours|class|lesson|trip|plan|thing|idea|visit|holiday|vacat|project|tour|event|book|ticket|session|journey|"
    "adventur|scheme|whole|weekend|week|day|that|this|big"
)
_FAVOURITE = re.compile(
    r"最(?:喜欢|爱|中意)的(?P<zh>[^,，。是]{1,10}?)(?:现在|还|就|一直)*(?:是|换成|变成)|"
    r"(?<![a-z])favou?rite (?P<en>[a-z]+(?: [a-z]+)?)"
    r"(?: (?:to|of|for|in|on|when|at) [^,.;]{1,40}?)? (?:is|are|has always been)(?![a-z])"
)
_THAT = re.compile(r"[那这](?:个|场|次|趟|件|门|期|边)?|的|计划|行程|活动|旅行|会议")
_BEING = frozenset({"is", "place", "choice", "has", "name"})
_FEWEST = 3
_NEGATION_CHARS = "不别没勿无非莫"
_NEGATION = re.compile(f"not?|never|without|stop|avoid|[a-z]+n't|[{_NEGATION_CHARS}]")


@lru_cache(maxsize=1)
def _synonyms() -> tuple[re.Pattern[str], dict[str, str]]:
    groups: list[list[str]] = yaml.safe_load((files(__package__) / "synonyms.yaml").read_text("utf-8"))
    canonical = {plain(word): group[0] for group in groups for word in group}
    words = sorted(canonical, key=len, reverse=True)
    parts = [re.escape(w) if _HAS_CJK.search(w) else rf"(?<![a-z0-9]){re.escape(w)}(?![a-z0-9])" for w in words]
    return re.compile("|".join(parts)), canonical


def tokens_of(value: str) -> tuple[str, ...]:
    """Return the words of a value in the form in which they are compared."""
    pattern, canonical = _synonyms()
    text = pattern.sub(lambda match: f" {canonical[match.group()]} ", plain(value))
    found: list[str] = []
    for token in _TOKEN.findall(text):
        if _HAS_CJK.search(token):
            for run in _CJK.findall(token):
                found += _CJK_FILLERS.sub(" ", run).split()
            found += _CJK.sub(" ", token).split()
        elif not _FILLER.fullmatch(token):
            found.append(str(_STEM.stemWord(token)) if token.isascii() else token)
    return tuple(found) or tuple(text.split())


def normal_value(value: str) -> str:
    """Return a value without case, width, script, filler words and language, as far as the synonyms reach."""
    return " ".join(tokens_of(value))


def tag_basis(claim: Claim) -> str | None:
    """Return the string by which the same thing is found, or None where the value has no words.

    `scope|key` for a key that holds one value, `scope|key|value` for one that holds several,
    `scope||value` without a key.
    """
    if claim.key and not claim.multi_valued:
        return f"{claim.scope}|{claim.key}"
    normal = normal_value(claim.value)
    return f"{claim.scope}|{claim.key or ''}|{normal}" if normal else None


def topic_basis(claim: Claim) -> str:
    """Return the string by which a claim about something forgotten is known: scope and key, else what it says.

    Coarser than `tag_basis`: where there is a key, no value goes in, so what is kept of it tells none.
    """
    return f"{claim.scope}|{claim.key}" if claim.key else f"{claim.scope}||{normal_value(claim.value)}"


def same_value(one: Claim, other: Claim) -> bool:
    """Say whether two claims name the same value, whatever their polarity."""
    return bool(normal_value(one.value)) and normal_value(one.value) == normal_value(other.value)


def near_value(one: Claim, other: Claim, threshold: float) -> bool:
    """Say whether two values are nearly the same words, with equal numbers, Latin names and negations."""
    left, right = tokens_of(one.value), tokens_of(other.value)
    if _marks(left) != _marks(right):
        return False
    a, b = _grams(left), _grams(right)
    return bool(a | b) and len(a & b) / len(a | b) >= threshold


def covers(whole: Claim, part: Claim) -> bool:
    """Say whether all words of one value occur, in order and side by side, in another."""
    inner, outer = normal_value(part.value), normal_value(whole.value)
    if not inner:
        return False
    if _HAS_CJK.search(inner):
        return inner.replace(" ", "") in outer.replace(" ", "")
    return f" {inner} " in f" {outer} "


def within(part: str, whole: str) -> bool:
    """Say whether every word of one text stands in another, in its order; one word alone says too little."""
    inner, outer = "".join(tokens_of(part)), "".join(tokens_of(whole))
    if _HAS_CJK.search(inner):
        rest = iter(outer)
        return len(inner) >= _FEWEST and all(char in rest for char in inner)
    words = tokens_of(part)
    rest_of = iter(tokens_of(whole))
    return len(words) >= _FEWEST - 1 and all(word in rest_of for word in words)


def names(part: str, whole: str) -> bool:
    """Say whether what one text calls a thing is that of another: "the sailing course" of "learn to sail"."""
    words = [word for word in tokens_of(_THAT.sub(" ", part)) if not _SORT.fullmatch(word)]
    return bool(words) and not any(_HAS_CJK.search(word) for word in words) and set(words) <= set(tokens_of(whole))


def favourite_of(claim: Claim) -> str | None:
    """Return of which sort a claim names the favourite, of which there is one; None where it names none."""
    match = _FAVOURITE.search(plain(claim.content)) if claim.positive else None
    return normal_value(match["zh"] or match["en"]) if match else None


def one_thing(key: str, other: str) -> bool:
    """Say whether two keys name one respect of one thing: `phone.is`, `tool.phone`; `sync.day`, `weekly_sync.day`.

    A longer name for it ends with the shorter one; "it is", "it is in", "it is called" and "we use" are one respect.
    """
    (thing, respect), (another, beside) = _parts(key), _parts(other)
    if not thing or not another or respect != beside:
        return False
    longer, shorter = sorted((thing, another), key=len, reverse=True)
    return longer == shorter or longer.endswith(shorter if _HAS_CJK.search(shorter) else f"_{shorter}")


def thing_of(key: str) -> str:
    """Return the thing that an open key names, without the respect: `weekly_sync` of `weekly_sync.day`."""
    return _parts(key)[0]


def _parts(key: str) -> tuple[str, str]:
    kept = [part for part in key.split(".") if part != "tool"]
    last = kept[-1] if kept else ""
    if last in _BEING:
        return ".".join(kept[:-1]), ""
    return (".".join(kept[:-1]), last) if len(kept) > 1 else (last, "")


def same_thing(one: Claim, other: Claim) -> bool:
    """Say whether two claims could be about one thing: same scope, same key, and both plans or neither."""
    plans = (one.kind is Kind.PLAN) == (other.kind is Kind.PLAN)
    return plans and one.scope == other.scope and one.key == other.key


def _marks(tokens: tuple[str, ...]) -> frozenset[str]:
    joined = "".join(tokens)
    marks = {token for token in tokens if token[0].isdigit() or _NEGATION.fullmatch(token)}
    marks |= {char for char in _NEGATION_CHARS if char in joined}
    if _HAS_CJK.search(joined):
        marks |= {token for token in tokens if token.isascii()}
    return frozenset(marks)


def _grams(tokens: tuple[str, ...]) -> frozenset[str]:
    grams: set[str] = set()
    for token in tokens:
        if _HAS_CJK.search(token) and len(token) > 1:
            grams.update(a + b for a, b in pairwise(token))
        else:
            grams.add(token)
    return frozenset(grams)
