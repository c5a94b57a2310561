"""Stage 4e: what no frame knows but must not be lost: what the person asked to remember, and sensitive statements."""

import re

from events.model import Kind
from services.extraction.cues import has
from services.extraction.normalise import Text
from services.extraction.proposal import Proposal
from services.extraction.request import asked_to_remember
from services.extraction.segment import Sentence
from services.extraction.vocabulary import sensitivity_of
from services.extraction.wording import is_chinese, short, tidy_span

_OPENING = 8  # a request to remember before this offset opens the sentence
_SHORTEST = 2
_LEAD = re.compile(r"(?:(?:just|also|and|so|oh|ok(?:ay)?|now|hey|hi|well|btw|by the way)[ ,]*)*[\s\"'“]{0,3}")
_SELF = ("我", " i ", " i'", " my ", " we ", " we'", " our ")


def match_statements(sentence: Sentence, text: Text) -> list[Proposal]:
    """Return the sentence itself as a claim where the person asked for it or where it touches a sensitive class."""
    asked = asked_to_remember(sentence.text)
    sensitive = sensitivity_of(sentence.text)
    mine = any(word in f" {sentence.text} " for word in _SELF)
    about_self = mine and not has("third", sentence.text[:6])
    opening = asked is not None and _LEAD.fullmatch(sentence.text, 0, asked.start()) is not None
    told = asked is not None and (mine or opening or is_chinese(sentence.text) or "please" in sentence.text)
    if not told and not (sensitive and about_self):
        return []
    start, end = tidy_span(
        sentence.text, asked.end() if asked and (opening or asked.start() < _OPENING) else 0, len(sentence.text)
    )
    if end - start < _SHORTEST:
        return []
    shown = text.shown[sentence.start + start : sentence.start + end]
    return [
        Proposal(
            frame="statement",
            kind=Kind.FACT,
            key=f"{sensitive}.statement" if sensitive else None,
            value=short(shown),
            content=short(shown),
            start=sentence.start + start,
            end=sentence.start + end,
            sensitivity=sensitive,
            features=frozenset({"statement"}),
        )
    ]
