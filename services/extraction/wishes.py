"""What the person said not to remember: the wish, and the words it covers."""

import re
from collections.abc import Iterable

from events.model import Evidence, Message, StandingWish, Suppression
from services.extraction.cues import lexicon
from services.extraction.material import dictated
from services.extraction.normalise import Text

_BEFORE = re.compile(r"[^。！？!?\n]{2,200}$")
_LEFT = " \t,，:：;；"
_ANAPHOR = re.compile(
    r"(?:[这那](?:件事|些|个|段|条)?|以上|(?:刚才|前面|上面)(?:说?的)?(?:话|事)?|that|this|it|please|也|都|请|\s)*$"
)
_PRONOUN_ONLY = re.compile(
    r"^(?:这个|这条|这句|这段话|这话|这件事|这些|这段|这|那个|此事|它|下来|了|this|that|it|"
    r"any of this|but|,|，|:|：|。|\.|\s|你|就|吧)*$"
)

_OWN_CLAUSE = re.compile(  # "I run a tearoom, but what it makes …", …，具体哪栋楼…
    r"[,，;；]\s*(?P<own>(?:不过|但是?|只是|就是|至于|具体|but |just |only |though )[^,，;；]{2,})$"
)
_HOW_MUCH = re.compile(r"多少|几|数|金额|how (?:much|many|old)|number|figure|amount|exact")
_COUNTED = re.compile(r"[\d一二两三四五六七八九十百千万]")


def suppressions(message: Message, text: Text) -> list[Suppression]:
    """Return what a message asks not to remember.

    "Do not remember this: X" and "…, but X" cover what follows in the paragraph; "X, do not remember that" covers what
    stands before in the sentence, or the sentence before. What is wanted of a text to be written asks for nothing.
    """
    found: list[Suppression] = []
    written = [*dictated(text.folded)]
    for wish in lexicon()["forget_not"].finditer(text.folded):
        start, end = wish.span()
        if any(first <= start < last for first, last in written):
            continue
        newline = text.folded.find("\n", end)
        paragraph = len(text.folded) if newline < 0 else newline
        after = text.folded[end:paragraph]
        if _PRONOUN_ONLY.match(after):
            before = _BEFORE.search(text.folded, 0, start)
            said = before is not None and not _ANAPHOR.match(before.group().strip(_LEFT))
            begin = _named_at(before) if before and said else _sentence_before(text.folded, start)
            spans = [(begin, start)]
        else:
            spans = [(end, paragraph)]
        covers = tuple(_pointer(message, text, a, b) for a, b in spans if a < b)
        found.append(Suppression(evidence=_pointer(message, text, start, end), covers=covers))
    return found


def beside(asked: Iterable[StandingWish], found: Iterable[Suppression]) -> list[Suppression]:
    """Return what is not to be remembered of a message; what is said for good covers its sentence alone.

    Of the rest it is the topic of such a wish that decides.
    """
    spans = [wish.evidence for wish in asked if not wish.lifts]
    alone = [each for each in found if not any(_within(each.evidence, span) for span in spans)]
    return [*alone, *(Suppression(evidence=span, covers=()) for span in spans)]


def _within(one: Evidence, other: Evidence) -> bool:
    return other.start <= one.start and one.end <= other.end


def _named_at(before: re.Match[str]) -> int:
    """Return where that begins which is not to be remembered: the clause of the wish, where that names it itself.

    A number that was said before is meant by "but not how much it is".
    """
    named = _OWN_CLAUSE.search(before.group())
    if named is None or (_HOW_MUCH.search(named["own"]) and _COUNTED.search(before.group(), 0, named.start())):
        return before.start()
    return before.start() + named.start("own")


def _sentence_before(folded: str, start: int) -> int:
    mark = max(folded.rfind(mark, 0, start) for mark in "。！？!?\n.")
    stop = len(folded[: max(mark, 0)].rstrip("。！？!?\n \t.,，"))
    return max((folded.rfind(mark, 0, stop) + 1 for mark in "。！？!?\n"), default=0)


def _pointer(message: Message, text: Text, start: int, end: int) -> Evidence:
    first, last = text.span(start, end)
    return Evidence(message_id=message.message_id, start=first, end=last)
