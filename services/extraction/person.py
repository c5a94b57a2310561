"""Whose statement a clause is: the person's own, or about somebody else."""

import re

from services.extraction.cues import lexicon, starts
from services.extraction.vocabulary import topics

_LAST_WORD = re.compile(r"(?<![a-z'])([a-z']+) $")

_SAID_THAT = re.compile(
    r"(?<![a-z])(?:remember|know|knows|think|say|said|note|noted|mean|mind|sure|true|fact|told|believe|guess|decided|happy|"
    r"glad|record|forget|mention|mentioned|so|now|given|aware|realised|realized) $"
)


def in_relative_clause(folded: str, at: int) -> bool:
    """Say whether an English "I" at `at` stands in a relative clause: "things I love", "where I live" claim nothing."""
    before = _LAST_WORD.search(folded, 0, at)
    if before is not None and before.group(1) == "that" and _SAID_THAT.search(folded, 0, before.start()):
        return False
    return before is not None and not starts("before_subject", before.group(1))


def of_another(clause: str) -> bool:
    """Say whether a folded clause has somebody else as its subject; "the clients' e-mails" has the e-mails."""
    match = lexicon()["third"].match(clause)
    if match is None:
        return False
    rest = clause[match.end() :].lstrip()
    owns = rest.startswith("的") or match.group().endswith("'s")
    named = topics(rest[:16])
    return not (owns or (named and named[0].start == 0))
