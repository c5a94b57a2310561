"""Whose statement a clause is: the person's own, or about somebody else."""

from services.extraction.cues import lexicon
from services.extraction.vocabulary import topics


def of_another(clause: str) -> bool:
    """Say whether a folded clause has somebody else as its subject; "the clients' e-mails" has the e-mails."""
    match = lexicon()["third"].match(clause)
    if match is None:
        return False
    rest = clause[match.end() :].lstrip()
    owns = rest.startswith("的") or match.group().endswith("'s")
    named = topics(rest[:16])
    return not (owns or (named and named[0].start == 0))
