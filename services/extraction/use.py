"""What the person says a statement is for: "my bistro seats 40, so go by that". Pure.

Who tells the assistant to reckon with something does not say it in passing: the use makes it a fact worth keeping. The
clause that names the use is no part of what is to be kept, and without it the statement is read like any other.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from services.extraction.cues import has
from services.extraction.lexicon import load
from services.extraction.plain import lasting, of_the_moment
from services.extraction.request import asked_to_remember
from services.extraction.segment import Clause, Sentence
from services.extraction.wording import is_chinese

_JOINED = r"(?:^|[,，;:：]\s*|\s[–—-]\s*|——|\s+(?=(?:so|and|but)(?![a-z])))"
_WHEN = re.compile(r"(?:^|[,，])[^,，]{0,16}(?:的时候|时)$")
_COUNTED = re.compile(
    r"\d|[零一二两三四五六七八九十百千万半几](?!下|起|点儿|直|样|定|般|些|切)[^,，。]|"
    r"(?<![a-z])(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred)(?![a-z])"
)
_VERB = re.compile(r"^(?!\w+ me )[a-z][^,]* (?:is|are|has|have|[a-z]+[^s]s)(?![a-z])")
_POINTS = re.compile(
    r"(?:[^,，。]{0,4}?(?:这|那)(?:个|版|张|份|次|篇|段|些|样|种)?|第[一二三四五六\d]|上面|下面)|"
    r"(?:that|this|it|these|those|the (?:first|second|third|last|next|new|old|other|meeting|total|sum|answer|file|"
    r"draft|one)|option|version|draft)(?![a-z])"
)


def with_uses(read: Sequence[Sentence]) -> list[Sentence]:
    """Take the clauses that say what a statement is for off the sentences, and mark the statements as `useful`."""
    found = list(read)
    for index, sentence in enumerate(found):
        if sentence.asks or (has("third", sentence.text) and asked_to_remember(sentence.text)):
            continue  # what is to be remembered of somebody else is read as it is
        before = found[index - 1] if index else None
        if before is not None and _is_use(sentence.text) and _states(before):
            found[index - 1] = replace(before, useful=True)
            found[index] = replace(sentence, asks=True)  # it says nothing by itself
            continue
        stated = _stated(sentence)
        if stated is not None and _states(stated):
            found[index] = replace(stated, useful=True)
    return found


def _stated(sentence: Sentence) -> Sentence | None:
    """Return a sentence without the words that say what it is for; None where there are none."""
    if (ahead := _patterns()["ahead"].match(sentence.text)) is not None:
        return _cut(sentence, ahead.end(), len(sentence.text))
    use = _patterns()["behind"].search(sentence.text)
    if use is None or not use.start():
        return None
    stop = use.start()
    if (when := _WHEN.search(sentence.text, 0, stop)) is not None and when.start():
        stop = when.start()
    return _cut(sentence, 0, stop)


def _is_use(folded: str) -> bool:
    return _patterns()["whole"].fullmatch(folded.strip(" ,，")) is not None


def _states(sentence: Sentence) -> bool:
    """Say whether a sentence states what stands for longer than its moment: of the person, or a number of a thing."""
    body = sentence.text.strip()
    if sentence.asks or has("once", body) or has("request", body) or of_the_moment(body):
        return False
    if lasting(sentence) is not None:
        return True
    told = is_chinese(body) or _VERB.search(body) is not None
    return told and _COUNTED.search(body) is not None and _POINTS.match(body) is None


def _cut(sentence: Sentence, start: int, stop: int) -> Sentence:
    first, last = sentence.start + start, sentence.start + stop
    clauses = tuple(
        Clause(
            max(each.start, first),
            min(each.end, last),
            sentence.text[max(each.start, first) - sentence.start : min(each.end, last) - sentence.start],
        )
        for each in sentence.clauses
        if each.start < last and first < each.end
    )
    return replace(sentence, start=first, end=last, text=sentence.text[start:stop], clauses=clauses)


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    data: dict[str, list[str]] = load("use.yaml")
    use = "|".join(data["zh"] + data["en"])
    return {
        "ahead": re.compile("|".join(data["ahead"])),
        "behind": re.compile(rf"{_JOINED}(?:{use})[\s,，。!！]*$"),
        "whole": re.compile(use),
    }
