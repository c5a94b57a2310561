"""Cues in words, zh and en: what binds, what is wanted, what is asked, what is only guessed; and what negates."""

import re
from typing import Final

from services.governance.folding import plain
from services.governance.sameness import tokens_of

SENTENCE: Final = re.compile(r"[^。！？!?；;\n.]+(?:\.(?=\S)[^。！？!?；;\n.]+)*[。！？!?；;.]*")
BINDS: Final = re.compile(
    r"必须|务必|一定要|一定不|千万|绝不|绝对不|不能|不可以|不得|不要|不许|禁止|只能|只可以|至少|至多|最多|不超过|不少于|以内|之前完成|"
    r"\bmust(?:n't)?\b|\bnever\b|\bno more than\b|\bno later than\b|\bat (?:most|least)\b|\bonly\b|"
    r"\bcannot\b|\bcan't\b|\bdo not\b|\bdon't\b|\bwithout\b|\bunder no\b|\bnot? allowed\b|"
    r"\bhas to\b|\bhave to\b|\bup to\b"
)
WANTS: Final = re.compile(
    r"我想|我要|我们要|帮我|我需要|目标是|打算|请你?(?:做|写|查|订|安排)|"
    r"\bi want\b|\bi need\b|\bi'd like\b|\bwe need\b|\bhelp me\b|\blet's\b|\bmy goal\b|\bthe goal\b|"
    r"\bplease (?:write|find|book|plan)\b"
)
NEXT: Final = re.compile(r"接下来|下一步|我会|我将|稍后|\bnext\b|\bi will\b|\bi'll\b|\bgoing to\b")
GUESSES: Final = re.compile(
    r"可能|也许|大概|或许|好像|似乎|估计|我猜|应该是|看来|"
    r"\bmaybe\b|\bperhaps\b|\bprobably\b|\bmight\b|\bseems?\b|\bi think\b|\bi guess\b|\blikely\b|\bpossibly\b"
)
ASKS: Final = re.compile(r"[?？]\s*$|(?:吗|呢)[。~～]?\s*$")
_NEGATES: Final = re.compile(r"[不别没勿无非莫禁]|\b(?:not?|never|without|none|nor|cannot|avoid)\b|n't\b")
_EVEN: Final = re.compile(r"不超过|不少于|不得不|不仅|不但|\bno more than\b|\bno later than\b|\bnot only\b")
_NUMBER: Final = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")


def sentences(text: str) -> list[str]:
    """Split a text into sentences, each with the mark that ends it."""
    return [found.strip() for found in SENTENCE.findall(text) if found.strip()]


def negated(text: str) -> bool:
    """Say whether a text negates, once what only looks like it is set aside ("no more than" says a bound)."""
    return len(_NEGATES.findall(_EVEN.sub(" ", plain(text)))) % 2 == 1


def numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text."""
    return frozenset(_NUMBER.findall(plain(text)))


def words(text: str) -> frozenset[str]:
    """Return what a text is about: its words without numbers and negations; of Chinese, its pairs of characters."""
    bare = _NUMBER.sub(" ", _NEGATES.sub(" ", _EVEN.sub(" ", plain(text))))
    found: set[str] = set()
    for token in tokens_of(bare):
        if token.isascii():
            found.add(token)
        else:
            found.update(token[at : at + 2] for at in range(max(1, len(token) - 1)))
    return frozenset(found)


def about(one: str, other: str) -> float:
    """Say how much two texts are about the same: the share of the shorter one's words that both have."""
    left, right = words(one), words(other)
    return len(left & right) / min(len(left), len(right)) if left and right else 0.0
