"""What "it" and 这个 mean: the thing the person named just before; a claim about nothing named is dropped."""

import re
from collections.abc import Sequence
from dataclasses import replace

from services.extraction.normalise import normalise
from services.extraction.proposal import Proposal
from services.extraction.repair import takes_back

_TASTE = "taste."
_OPENING = 200  # characters in which a message takes back what was said before it
_BACK = re.compile(r"它|这个|那个|这些|那些|\b(?:it|that|this|them|these|those)\b", re.IGNORECASE)


def points_back(text: str) -> bool:
    """Say whether a text may mean something that was named before it, or takes it back."""
    return _BACK.search(text) is not None or takes_back(normalise(text[:_OPENING]).folded)


def with_antecedent(proposal: Proposal, said: Sequence[Proposal]) -> Proposal | None:
    """Return a proposal whose value stands alone: as it is, with the last thing named before it, or None."""
    if "pronoun" not in proposal.features:
        return proposal
    named = _last_named(said)
    return None if named is None else replace(_about(proposal, named), start=min(proposal.start, named.start))


def with_recalled(proposal: Proposal, before: Sequence[Proposal]) -> Proposal | None:
    """Return a proposal about what the turn before named, less sure; None unless it turns that very attitude round.

    In between the agent spoke, and "I like it" may mean what it said; "I hate it now" means what the person liked.
    """
    named = _last_named(before)
    tastes = named is not None and named.key is not None and named.key.startswith(_TASTE)
    if named is None or not tastes or "pronoun" not in proposal.features or named.positive == proposal.positive:
        return None
    whole = _about(proposal, named)
    return replace(whole, features=whole.features | {"recalled"})


def _last_named(said: Sequence[Proposal]) -> Proposal | None:
    return next((p for p in reversed(said) if p.key and (p.key.startswith(_TASTE) or p.frame == "possession")), None)


def _about(proposal: Proposal, named: Proposal) -> Proposal:
    return replace(
        proposal,
        key=named.key if named.key and named.key.startswith(_TASTE) else proposal.key,
        value=named.value,
        content=proposal.content.replace(proposal.value, named.value),
        features=proposal.features - {"pronoun"},
    )
