"""Whether a sentence asks to remember: a verb of remembering that is under no denial, unwillingness or prohibition."""

import re
from functools import lru_cache
from typing import Final

from services.extraction.cues import has, lexicon
from services.extraction.lexicon import compiled, load

_AFRESH: Final = re.compile(  # behind these a denial governs no more: "I'm no vegetarian, so remember …"
    r"[,，。;；:：!?！？\n]|所以|但|请|麻烦|务必|(?<![a-z])(?:so|and|but|please|then|because)(?![a-z])"
)
_ASKS_ANYWAY: Final = re.compile(r"请|麻烦|务必|please|.*(?:忘|forget)")
_PUT_IN_BETWEEN: Final = re.compile(  # "don't, ever, remember"
    r"(?:n't|(?<![a-z])(?:not|never)|别|不要|不许|不准|不必|不用|勿)[,，][^,，。.;；!?！？\n]{1,40}[,，]\s*$"
)


def asked_to_remember(text: str) -> re.Match[str] | None:
    """Return where a folded sentence first asks to remember; None where it only says so under a denial."""
    return next((each for each in lexicon()["remember"].finditer(text) if not _denied(text, each)), None)


def _denied(text: str, asked: re.Match[str]) -> bool:
    """Say whether a verb of remembering stands under a denial in its clause; not to forget is to remember."""
    if _ASKS_ANYWAY.match(asked.group()):
        return False
    before = text[: asked.start()]
    if _PUT_IN_BETWEEN.search(before):
        return True
    governs = _harmless().sub(" ", _AFRESH.split(before)[-1])
    return _denials().search(governs) is not None or has("unasked", governs)


@lru_cache(maxsize=1)
def _harmless() -> re.Pattern[str]:
    return compiled(load("polarity.yaml")["harmless"])


@lru_cache(maxsize=1)
def _denials() -> re.Pattern[str]:
    return compiled(load("polarity.yaml")["denial"])
