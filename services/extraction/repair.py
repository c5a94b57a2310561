"""Stage 5: what a sentence takes back itself: "2016, no, 2018"."""

import re
from dataclasses import replace

from services.extraction.cues import lexicon
from services.extraction.normalise import Text
from services.extraction.proposal import Proposal
from services.extraction.segment import Sentence
from services.extraction.wording import tidy_value

_COPULA = re.compile(
    r"[\s,，:：]*(?:(?:应该)?(?:是|叫|在|住在)|(?:it'?s|it is|is|should be|that'?s|on|in|at)(?![a-z]))?\s*"
)
_VALUE = re.compile(r"[^,，。;；!?！？\n]{1,60}")


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
        return [*before[:-1], *after]
    opening = _COPULA.match(sentence.text, mark.end())
    value = _VALUE.match(sentence.text, opening.end() if opening else mark.end())
    if value is None:
        return proposals
    start, end = tidy_value(sentence.text, *value.span())
    if start >= end:
        return proposals
    new = text.shown[sentence.start + start : sentence.start + end]
    last = before[-1]
    fixed = replace(
        last,
        value=new,
        content=last.content.replace(last.value, new) if last.value in last.content else f"{last.content} → {new}",
        end=sentence.start + end,
        features=last.features | {"repaired"},
    )
    return [*before[:-1], fixed, *after]
