"""What the person says is not to be remembered from now on, or may be again: wishes that outlast their turn."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

from events.model import Evidence, Message, StandingWish
from services.extraction.cues import has
from services.extraction.lexicon import compiled, expand, load
from services.extraction.material import own_words
from services.extraction.normalise import Text
from services.extraction.person import of_another
from services.extraction.segment import Sentence, sentences
from services.extraction.subjects import is_private, meant_kinds, meant_subjects, names_of_a_person

_OPENING: Final = 30  # who speaks is said at the beginning
_PLACED = re.compile(  # a thing that is kept somewhere, or in some state, is no topic
    r"(?!where |what |who |how |when ).* "
    r"(?:in|at|on|up|down|with|without|to|from|under|as|into|off|away|out|for|until|by|waiting)(?: |$).*"
)
_MARKS = " ,.!。，！"
_MANNER = re.compile(r".* (?:wrong(?:ly)?|(?:in)?correctly|badly|poorly|properly|right|upside down)")  # how, not what
_ONLY_THEN = re.compile(  # what is allowed under a condition is not allowed yet
    r"[\s,，]*(?:(?:那|不过|但是?|所以|嗯|好)[,，]?)?(?:等(?!等)|一旦|如果|要是|假如|万一|除非|只有|只要)|"
    r"\s*(?:(?:but|and|so|well|ok|okay),? )?(?:once|when|after|if|as soon as|unless|until|provided|as long as)(?![a-z])"
)
_POINTING = re.compile(
    r"(?:我说?的?|你|他们?|她们?|它们?|这[个些条句段]?|那[个些条句段]?|话|什么|东西|一切|所有|任何)+|"
    r"(?:it|this|that|them|these|those|me|us|things?|stuff|anything|everything|what i (?:say|said|tell you|told you)|"
    r"(?:the|this|that|these|those|my last) (?:one|message|sentence|conversation|chat|file|thing|part)s?)"
)


def standing_wishes(message: Message, text: Text) -> list[StandingWish]:
    """Return the wishes of a message about what to remember from now on, in the order in which they were said.

    Only what the person states themselves counts, and only where it names what a memory can be about: a semantic key, a
    part of life, what is known by a number, a kind of memory, or a thing of theirs that no list knows.
    """
    found = []
    for sentence in sentences(own_words(text)):
        if _asks(sentence, text) or has("reported", sentence.text[:_OPENING]) or of_another(sentence.text):
            continue
        for lifts in (False, True):
            if _may_wish(sentence.text, lifts=lifts) and (wish := _wish(message, text, sentence, lifts=lifts)):
                found.append(wish)
                break
    return found


def _asks(sentence: Sentence, text: Text) -> bool:
    """Say whether a sentence asks; what one eats, 我吃什么, is named by a question and none without its mark."""
    named = sentence.text.endswith("什么") and text.folded[sentence.end : sentence.end + 1] != "?"
    return sentence.asks and not named


def _may_wish(whole: str, *, lifts: bool) -> bool:
    """Say whether a sentence may be meant for good; what is allowed again is so by its own words."""
    words = _words()
    if words["now"].search(whole) or has("sarcasm", whole) or has("hypothetical", whole):
        return False
    if lifts and _ONLY_THEN.match(whole):
        return False
    return lifts or words["always"].search(whole) is not None or words["class"].search(whole) is not None


def _wish(message: Message, text: Text, sentence: Sentence, *, lifts: bool) -> StandingWish | None:
    """Return the wish that a sentence, one of its clauses or two of them beside each other are."""
    for start, end in _stretches(sentence):
        if (name := _named(text.folded[start:end], lifts=lifts)) is not None:
            first, last = text.span(start, end if lifts else sentence.end)  # what follows the wish is not to be kept
            pointer = Evidence(message_id=message.message_id, start=first, end=last)
            shown = text.shown[start + name[0] : start + name[1]]
            return StandingWish(description=shown, evidence=pointer, lifts=lifts)
    return None


def _stretches(sentence: Sentence) -> list[tuple[int, int]]:
    clauses = sentence.clauses
    pairs = [(one.start, other.end) for one, other in pairwise(clauses)]
    singles = [(clause.start, clause.end) for clause in clauses]
    return list(dict.fromkeys([(sentence.start, sentence.end), *pairs, *singles]))


def _named(stretch: str, *, lifts: bool) -> tuple[int, int] | None:
    """Return where a stretch of words names what it wishes; None where it wishes nothing such."""
    start, end = _bare(stretch)
    for pattern in _patterns()["kept_again" if lifts else "not_kept"]:
        for stop in dict.fromkeys((end, len(stretch.rstrip(_MARKS)))):  # "again" may belong to the wish or close it
            match = pattern.fullmatch(stretch, start, stop)
            if match and (_means_something(match["t"], stretch) or _names_a_thing(match)):
                return match.span("t")
    return None


def _bare(stretch: str) -> tuple[int, int]:
    """Return where the wish itself stands: without words of address and of duration before and behind it."""
    start, end = len(stretch) - len(stretch.lstrip()), len(stretch)
    for pattern in _edges("opening") * 2:
        if match := pattern.match(stretch, start):
            start = match.end()
    for pattern in _edges("closing"):
        if match := pattern.search(stretch, start, end):
            end = match.start()
    return start, end


def _means_something(name: str, stretch: str) -> bool:
    if _POINTING.fullmatch(name.strip()) or _PLACED.fullmatch(name) or _MANNER.fullmatch(name):
        return False
    words = _words()
    if meant_kinds(name) or (words["class"].search(stretch) and (names_of_a_person(name) or meant_subjects(name))):
        return True
    return is_private(name) if words["loose"].search(stretch) else names_of_a_person(name)


def _names_a_thing(match: re.Match[str]) -> bool:
    """Say whether a wish names something of the person's that no list knows: "my bonsai", 我的盆栽, "anything about X".

    A verb that is said of files and things too must say that it means what is known of it.
    """
    name, words = match["t"].strip(), _words()
    about = words["about"].search(match.string, match.start(), match.start("t")) is not None
    about = about or words["matter"].match(match.string, match.end("t")) is not None
    if _POINTING.fullmatch(name) or _PLACED.fullmatch(name) or _MANNER.fullmatch(name) or words["unnamed"].search(name):
        return False
    recalls = words["recalls"].search(match.group()) is not None
    return about or (recalls and words["own"].match(name) is not None)


@lru_cache(maxsize=1)
def _patterns() -> dict[str, list[re.Pattern[str]]]:
    data = load("standing.yaml")
    pieces: dict[str, str] = {}
    for name, piece in data["pieces"].items():  # a piece may use those above it
        pieces[name] = expand(piece, pieces)
    return {
        name: [re.compile(expand(pattern, pieces)) for pattern in data[name]] for name in ("not_kept", "kept_again")
    }


@lru_cache(maxsize=1)
def _words() -> dict[str, re.Pattern[str]]:
    data = load("standing.yaml")
    names = ("always", "class", "now", "loose", "about", "matter", "recalls", "own", "unnamed")
    return {name: compiled(data[name]) for name in names}


@lru_cache(maxsize=2)
def _edges(end: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in load("standing.yaml")[end])
