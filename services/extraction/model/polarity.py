"""Which side of a claim a clause is on: the person likes it, or they do not."""

import re
from functools import lru_cache

from services.extraction.lexicon import compiled, load


@lru_cache(maxsize=1)
def _cues() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words: dict[str, list[str]] = load("polarity.yaml")
    return compiled(words["harmless"]), compiled(words["denial"])


def denials(folded: str) -> int:
    """Count the words in a folded text that turn a claim into its opposite."""
    harmless, denial = _cues()
    return sum(1 for _ in denial.finditer(harmless.sub(lambda match: "\n" * len(match.group()), folded)))
