"""When a newer statement without a semantic key corrects an older one: "rehearsals moved to the boathouse". Pure.

Closeness alone does not tell another value of one thing from a like sentence about another thing. So the statement must
be worded as a change, every word of what it says has changed must occur in the older one, and only then the cosine of
the two decides whether they speak of it in the same respect (`ops/bench/governance/corrections.py`).
"""

import re

from events.model import Assertion, Candidate, MemoryBody
from services.governance.aboutness import grams
from services.governance.folding import plain
from services.governance.policy import RenewalPolicy

_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_CHANGED_ZH = re.compile(
    r"^(?:从?(?:现在|今天)(?:起|开始)?|现在|以后|今后|往后)?[,，]?"
    r"(?P<s>[^,，。]+?)(?:现在|已经|其实|刚|又|都|也)*(?:改(?!天|进|善|变)|换成|换到|换了|挪到|移到|迁到|转到|调到|推迟到|提前到|搬到|变成|升级到)"
)
_CHANGED_EN = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:^|\s)(?:switch(?:ed)?|moved|changed|migrated) (?P<s>[^,.;]+?) (?:over |back )?to\s",
        r"^(?P<s>[^,.;]+?) (?:(?:has|have|is|are|was) )?(?:been )?(?:moved|switched|changed|migrated) (?:over )?to\s",
        r"^move (?P<s>[^,.;]+?) to\s.+\sinstead$",
        r"(?:^|\s)new (?P<s>[^,.;]+?)(?:,| is | are | called )",
        r"\sinstead (?P<s>(?:to|when|before|after|for|in|at|on|while) .+)$",
        r"^(?P<s>[^,.;]+?)(?<! from)(?: is| are)? now\s",
        r"^(?P<s>[^,.;]+?) (?:is|are|gets?|has|have|goes|runs?|takes?|comes?|starts?)\s.+\snow$",
    )
)
_EMPTY = re.compile(r"\b(?:i|me|my|we|us|our|you|he|she|it|they|this|that|these|those|there|when|while|things?)\b")
_EMPTY_ZH = re.compile(r"我们?|你们?|您|他们?|她们?|它们?|这个?|那个?|大家|自己")
_SHORTEST = 2

Stated = Candidate | MemoryBody


def changed(content: str) -> frozenset[str]:
    """Return the words of what a text says has changed; empty where it is not worded as a change."""
    text = plain(content).rstrip("。.!！了 ")
    if _CJK.search(text):
        match = _CHANGED_ZH.search(text)
        said = _EMPTY_ZH.sub("", match["s"]) if match else ""
    else:
        match = next((found for pattern in _CHANGED_EN if (found := pattern.search(text))), None)
        said = _EMPTY.sub("", match["s"]) if match else ""
    return grams(said) if len(said.strip()) >= _SHORTEST else frozenset()


def could_renew(newer: Stated, older: Stated) -> bool:
    """Say whether the words let one statement correct another: both stated, same scope and kind, same thing changed.

    Two that each have a semantic key are told apart by their keys, and a negation has rules of its own (gate 12).
    """
    stated = newer.assertion is older.assertion is Assertion.STATED and newer.positive and older.positive
    keyless = newer.key is None or older.key is None
    if not (stated and keyless and newer.kind is older.kind and newer.scope == older.scope):
        return False
    words = changed(newer.content)
    if not words or _language(newer) != _language(older):
        return False
    there = plain(older.content)
    return all(word in grams(there) or (_CJK.search(word) is not None and word in there) for word in words)


def renews(newer: Stated, older: Stated, similarity: float, policy: RenewalPolicy) -> bool:
    """Say whether one statement corrects another.

    Args:
        newer: the one that was said later.
        older: the other one.
        similarity: cosine of the vectors of their contents.
        policy: from which cosine on, by language; the scales of the two differ, and between them there is none.
    """
    threshold = policy.zh if _language(newer) else policy.en
    return similarity >= threshold and could_renew(newer, older)


def _language(claim: Stated) -> bool:
    return _CJK.search(claim.content) is not None
