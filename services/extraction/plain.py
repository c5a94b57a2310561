"""What the person states plainly of themselves or of a thing of theirs, and for good: "we have six bedrooms". Pure.

Of what stands nobody can list the words; what passes shows by the moment it is tied to. So a claim in the plain present
with the person as its subject is taken as lasting unless a word ties it to now, to then, or to what is felt or wanted.
"""

import re
from dataclasses import replace
from functools import lru_cache

from services.extraction.cues import has, starts
from services.extraction.lexicon import alternatives, compiled, expand, load
from services.extraction.segment import Clause, Sentence

BESIDE = (
    "uncertain",
    "hypothetical",
    "forget_not",
)  # what is doubtful, or not to be kept, does not touch what stands before
_TOLD = re.compile(r"(?:那|所以|就)?[你您]")
_ALONE = re.compile(r"(?:[a-z]+,? )?(?:i|i'm|i've)(?![a-z])|[^,，]{0,4}我(?!们|家|的)")


def lasting(sentence: Sentence) -> Sentence | None:
    """Return the clauses with which a sentence says how things of the person's are for good; None where it does not."""
    kept: list[Clause] = []
    for clause in sentence.clauses:
        if of_the_moment(_thing().sub("my thing", clause.text.strip())) or any(has(cue, clause.text) for cue in BESIDE):
            break
        kept.append(clause)
    if not kept or _own().match(_thing().sub("my thing", kept[0].text.strip())) is None:
        return None
    ordered = any(_orders(clause.text) for clause in sentence.clauses[len(kept) :])  # and this is the ground for it
    if ordered or _task().search(kept[0].text) is not None:
        return None
    start, end = kept[0].start, kept[-1].end
    return replace(sentence, start=start, end=end, text=" ".join(clause.text for clause in kept), clauses=tuple(kept))


def of_one(sentence: Sentence) -> bool:
    """Say whether a sentence has the person alone as its subject: what they do by themselves may be a taste."""
    return _ALONE.match(sentence.text.strip()) is not None


def of_the_moment(folded: str) -> bool:
    """Say whether a word ties a folded clause to now, to then, or to what is only felt, thought or wanted."""
    return _moment().search(folded) is not None


def _orders(clause: str) -> bool:
    body = clause.strip().removeprefix("so ").removeprefix("please ")
    told = starts("imperative", body) or has("request", clause) or _TOLD.match(body) is not None
    return told and not has("forget_not", clause)


@lru_cache(maxsize=1)
def _own() -> re.Pattern[str]:
    return re.compile(expand(alternatives(load("plain.yaml")["own"])))


@lru_cache(maxsize=1)
def _task() -> re.Pattern[str]:
    return compiled(load("plain.yaml")["task"])


@lru_cache(maxsize=1)
def _thing() -> re.Pattern[str]:
    return re.compile(alternatives(load("plain.yaml")["relative"]))


@lru_cache(maxsize=1)
def _moment() -> re.Pattern[str]:
    return compiled(load("plain.yaml")["moment"])
