"""Stage 5: what the person takes back themselves: "2016, no, 2018", "… is blue. No, wait, green."."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.extraction.cues import lexicon, starts
from services.extraction.normalise import Text
from services.extraction.proposal import Proposal
from services.extraction.segment import Sentence
from services.extraction.vocabulary import taste_of
from services.extraction.wording import is_chinese, tidy_value

_COPULA = re.compile(
    r"[\s,，:：]*(?:(?:应该)?(?:是叫|是|叫|在|住在|用)|"
    r"(?:(?:it|they|she|he) [a-z]+s? (?:on|at|in)|it'?s|it is|"
    r"is|should be|that'?s|on|in|at)(?![a-z]))?\s*"
)
_VALUE = re.compile(r"[^,，。;；!?！？\n]{1,60}")
_NOT_BUT = re.compile(
    r"\s*(?:(?:it'?s|that'?s|it is|i'?m) )?(?:不是|(?<![a-z])not )\s*(?P<old>[^,，]{1,30}?)"
    r"(?:[,，]\s*(?:而|应该)?是?|而是|,? but |, )\s*(?:(?:it'?s|that'?s|it is) )?(?P<new>[^,，]{1,40})$"
)
_DIGITS = r"\d+(?:\.\d+)?|[零一二两三四五六七八九十百千万]+"
_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fifty"
)
_NUMBER = rf"(?:{_DIGITS}|(?<![a-z])(?:{_WORDS})(?![a-z]))"
_COUNTED = re.compile(rf"(?P<number>{_NUMBER}) ?(?P<unit>[^\d\s]?)(?P<rest>.*)", re.DOTALL)
_NAMED = re.compile(rf"(?P<word>[a-z]+) {_NUMBER}")
_BE = re.compile(r"^.*(?:[是叫在用]|(?<![a-z])(?:is|are|called|in|at|on)(?![a-z]))\s*", re.DOTALL)
_SORRY = re.compile(r"[,，]? ?(?:sorry|my bad|my mistake|apologies|oops|抱歉|不好意思|对不起|我的错)[\s,，哈啊]*$")
_WHY = re.compile(r"[,，] ?(?:我|刚才|刚刚|之前|(?:because|i|i'd|my)(?![a-z])).*$")
_LEFT = "left_work"
_WORK = "work."
_WEAK = re.compile(  # also opens what is only added or refused: "Actually, great city.", "No, 2 will do."
    r"actually(?![a-z])|no(?:pe)?,? (?!i mean|wait|sorry|actually|make)|不(?:是)?[,，:：]\s*(?=\d)"
)
_LONGEST = {True: 12, False: 6}  # characters of a Chinese value, words of an English one
_WHOLE = frozenset({"rule", "statement", "episode", "exemplar"})  # frames whose value may be all that was said


@dataclass(frozen=True, slots=True)
class Said:
    """What was claimed in the sentence at `index` of the message."""

    index: int
    proposal: Proposal


def repaired(proposals: list[Proposal], sentence: Sentence, text: Text) -> list[Proposal]:
    """Let the corrected value stand for the one it corrects; a claim restated in full replaces the first."""
    mark = lexicon()["repair"].search(sentence.text)
    if mark is None or mark.start() == 0:
        return proposals
    at = sentence.start + mark.start()
    before = [p for p in proposals if p.start < at]
    after = [p for p in proposals if p.start >= at]
    if not before:
        return proposals
    if any(p.key == before[-1].key for p in after):
        return [*before[:-1], *(_classed(p, before[-1]) if p.key == before[-1].key else p for p in after)]
    opening = _COPULA.match(sentence.text, mark.end())
    value = _VALUE.match(sentence.text, opening.end() if opening else mark.end())
    if value is None:
        return proposals
    start, end = tidy_value(sentence.text, *value.span())
    if start >= end:
        return proposals
    fixed = _with_value(before[-1], text.shown[sentence.start + start : sentence.start + end], sentence.start + end)
    return [*before[:-1], fixed, *after]


def corrected(
    said: Sequence[Said], more: Sequence[Said], index: int, read: Sequence[Sentence], text: Text
) -> list[Said]:
    """Return what a message said up to the sentence at `index`, in which `more` was found, with what it takes back.

    A sentence that takes back and claims the same in full replaces the last claim; one that names a value only gives it
    that value. A sentence of another person's fault ("不对，你算错了") or a refusal names none.
    """
    sentence = read[index]
    opening = _opening(index, read)
    if not said or sentence.asks:
        return [*said, *more]
    last = said[-1]
    same = [each for each in more if each.proposal.key and each.proposal.key == last.proposal.key]
    if opening is not None and same:
        heirs = [
            replace(_classed(e.proposal, last.proposal), correction=True) if e in same else e.proposal for e in more
        ]
        return [*said[:-1], *(Said(e.index, heir) for e, heir in zip(more, heirs, strict=True))]
    fixed = None if more else _elliptic(last.proposal, sentence, text, opening)
    return [*said, *more] if fixed is None else [*said[:-1], Said(last.index, fixed)]


def takes_back(folded: str) -> bool:
    """Say whether a folded text opens by taking back what was said before it: "no, I meant …", 不是…，是…."""
    return lexicon()["takeback"].match(folded) is not None or _NOT_BUT.match(folded) is not None


def recalled(before: Sequence[Proposal], read: Sequence[Sentence], text: Text) -> Proposal | None:
    """Return the last claim of the turn before with the value that this message gives it instead; None where none is.

    Only the message's first words count, and only where they take something back and name a value.
    """
    index = 1 if len(read) > 1 and lexicon()["takeback"].fullmatch(read[0].text) else 0
    if not before or not read or read[index].asks:
        return None
    sentence = read[index]
    opening = _opening(index, read)
    named = _NOT_BUT.match(sentence.text, opening or 0)
    old = named["old"].strip() if named else ""
    last = next((each for each in reversed(before) if old and old in each.value.lower()), before[-1])
    if opening is None and (not named or old not in last.value.lower()):
        return None
    fixed = _elliptic(last, sentence, text, opening)
    if fixed is None:
        return None
    return replace(fixed, start=sentence.start, end=sentence.end, correction=True, replaces=last.value)


def restated(said: Sequence[Said], before: Sequence[Proposal], read: Sequence[Sentence]) -> list[Said]:
    """Let the first claim of a message that opens by taking back replace what the turn before claimed under its key."""
    if not said or not takes_back(read[0].text):
        return list(said)
    first, last = said[0], next((each for each in reversed(before) if each.key == said[0].proposal.key), None)
    if last is None or last.key is None or last.value == first.proposal.value:
        return list(said)
    heir = replace(_classed(first.proposal, last), correction=True, replaces=last.value)
    return [Said(first.index, heir), *said[1:]]


def succeeded(said: Sequence[Said]) -> list[Said]:
    """Let a new post stand for the one that the same message says was left: it replaces it, and that is all of it."""
    left = next((each for each in said if each.proposal.frame == _LEFT), None)
    new = next((each for each in said if each is not left and (each.proposal.key or "").startswith(_WORK)), None)
    if left is None or new is None:
        return list(said)
    heir = Said(new.index, replace(new.proposal, correction=True, replaces=left.proposal.value))
    return [heir if each is new else each for each in said if each is not left]


def _opening(index: int, read: Sequence[Sentence]) -> int | None:
    """Return where in a sentence begins what stands for something taken back: after the mark, which may stand alone."""
    mark = lexicon()["takeback"].match(read[index].text)
    if mark:
        return mark.end()
    before = lexicon()["takeback"].fullmatch(read[index - 1].text) if index else None
    return 0 if before else None


def _elliptic(last: Proposal, sentence: Sentence, text: Text, opening: int | None) -> Proposal | None:
    whole = sentence.text
    swap = _NOT_BUT.match(whole, opening or 0)
    if swap and swap["old"].strip() in last.value.lower():
        start, end = tidy_value(whole, *swap.span("new"))
    elif opening is None:
        return None
    else:
        copula = _COPULA.match(whole, opening)
        sorry = _SORRY.search(whole) or _WHY.search(whole, opening + 1)
        start, end = tidy_value(whole, copula.end() if copula else opening, sorry.start() if sorry else len(whole))
        if _VALUE.fullmatch(whole, start, end) is None or not _names(whole[start:end]):
            return None
    if start >= end:
        return None
    if not swap and _WEAK.match(whole) and not _alike(last, text.shown[sentence.start + start : sentence.start + end]):
        return None
    value = _placed(last, text.shown[sentence.start + start : sentence.start + end])
    return _with_value(last, value, sentence.start + end) if value else None


def _names(value: str) -> bool:
    """Say whether words name a value and claim, want or ask nothing by themselves."""
    chinese = is_chinese(value)
    length = len(value) if chinese else len(value.split())
    return length <= _LONGEST[chinese] and not starts("clausal", value) and lexicon()["clausal"].search(value) is None


def _alike(last: Proposal, new: str) -> bool:
    """Say whether a value is of the sort of the last one, a name for a name, a drink for a drink: no "great city"."""
    same_taste = not (last.key or "").startswith("taste.") or taste_of(new.lower()) == last.key
    return (
        same_taste and new[:1].isupper() == last.value[:1].isupper() and new[:1].isdigit() == last.value[:1].isdigit()
    )


def _placed(last: Proposal, new: str) -> str | None:
    """Return the whole value with the new one in its place: the number of "two cats", what follows 叫 in a sentence."""
    counted = _COUNTED.fullmatch(new.lower())
    if counted:
        for old in re.finditer(_NUMBER, last.value.lower()):
            following = last.value[old.end() :].lstrip()
            if following.startswith(counted["unit"] + counted["rest"]):
                rest = last.value[old.end() :]
                return last.value[: old.start()] + new[: counted.end("number")] + rest
    if (swapped := _swapped(last.value, new)) is not None:
        return swapped
    if last.frame in _WHOLE and last.value == last.content:
        kept = _BE.match(last.value)
        return kept.group() + new if kept else None
    unit = last.content.partition(last.value)[2]  # what the frame says itself: "三十三" of "三十三岁"
    return new.removesuffix(unit) if unit else new


def _swapped(value: str, new: str) -> str | None:
    """Return a value with the number in it that a correction names anew with its word: "platform 4", "platform 6"."""
    named = _NAMED.fullmatch(new.lower())
    old = re.search(rf"(?<![a-z]){named['word']} (?P<number>{_NUMBER})", value.lower()) if named else None
    return None if old is None or named is None else value[: old.start()] + new + value[old.end() :]


def _classed(new: Proposal, last: Proposal) -> Proposal:
    """Return what corrects a claim, of its sensitive class where its own words show none."""
    return replace(new, sensitivity=new.sensitivity or last.sensitivity)


def _with_value(last: Proposal, new: str, end: int) -> Proposal:
    return replace(
        last,
        value=new,
        content=last.content.replace(last.value, new) if last.value in last.content else f"{last.content} → {new}",
        end=end,
        features=last.features | {"repaired"},
    )
