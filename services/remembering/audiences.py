"""Which readers the candidates of a turn are for: from the turn's credential, the rules, and the projects they name."""

from collections.abc import Mapping, Sequence

from events.envelope import StoredEvent
from events.keyring import Keyring
from events.model import PRIVATE, Audience, Candidate, ProjectId, TurnFinalized
from projections.choices import Consents
from services.governance.audience import audience_of, named_project, scoped
from services.profile.fields import Fields, classified


async def audiences_of(
    keyring: Keyring, stored: StoredEvent, candidates: Sequence[Candidate], fields: Fields
) -> dict[Candidate, Audience]:
    """Say of each candidate, in order, which readers it is for; what is for a project gets its scope.

    Args:
        keyring: the person's, who names the projects.
        stored: the turn's event.
        candidates: what the extractor proposed.
        fields: the fields of the profile, which give what is said under them a sensitive class.
    """
    said = stored.event.audience if isinstance(stored.event, TurnFinalized) else PRIVATE
    names = {("project", name) for each in candidates if (name := named_project(each)) is not None}
    ids = await keyring.intern(sorted(names)) if names else {}
    known = await keyring.outside([said.project]) if said.project is not None else {}
    found = {}
    for candidate in (classified(each, fields) for each in candidates):
        name = named_project(candidate)
        named = None if name is None else ProjectId(ids["project", name])
        audience = audience_of(candidate, said, named)
        own = known.get(said.project) if said.project is not None and audience.project == said.project else None
        found[scoped(candidate, own)] = audience
    return found


def consented(candidates: Mapping[Candidate, Audience], consents: Consents) -> dict[Candidate, Audience]:
    """Bind what is of a class that the person opened for one purpose alone to that purpose, where none was named."""
    found = {}
    for candidate, audience in candidates.items():
        purposes = consents.purposes.get(candidate.sensitivity or "", frozenset())
        alone = next(iter(purposes)) if len(purposes) == 1 and audience.purpose is None else audience.purpose
        found[candidate] = audience.model_copy(update={"purpose": alone})
    return found
