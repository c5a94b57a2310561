"""What "it" and 这个 mean: the thing the person named just before; a claim about nothing named is dropped."""

from collections.abc import Sequence
from dataclasses import replace

from services.extraction.proposal import Proposal

_TASTE = "taste."


def with_antecedent(proposal: Proposal, said: Sequence[Proposal]) -> Proposal | None:
    """Return a proposal whose value stands alone: as it is, with the last thing named before it, or None."""
    if "pronoun" not in proposal.features:
        return proposal
    named = next((p for p in reversed(said) if p.key and (p.key.startswith(_TASTE) or p.frame == "possession")), None)
    if named is None:
        return None
    return replace(
        proposal,
        key=named.key if named.key and named.key.startswith(_TASTE) else proposal.key,
        value=named.value,
        content=proposal.content.replace(proposal.value, named.value),
        start=min(proposal.start, named.start),
        features=proposal.features - {"pronoun"},
    )
