"""Taking in what a business system states, under the keys that it owns (R11, R14)."""

from events.model import Scope
from services.access.keys import Owners
from services.remembering.ingest import Ingest
from services.wire.facts import FactAnswer, SystemFact

_ACTOR = "system:"


class Proposals:
    """Stores the facts of business systems, each once; they are considered as every turn is.

    Args:
        ingest: stores them.
        owners: says which system owns which semantic key now.
    """

    def __init__(self, ingest: Ingest, owners: Owners) -> None:
        self._ingest = ingest
        self._owners = owners

    async def propose(self, scope: Scope, system: str, fact: SystemFact) -> FactAnswer | None:
        """Store a fact; None where the system does not own its key, or no longer.

        Raises:
            TurnConflictError: the fact id is known with another body.
        """
        if (await self._owners.owners(scope.tenant_id)).get(fact.key) != system:
            return None
        stored = await self._ingest.finalize(scope, fact.turn(system), f"{_ACTOR}{system}")
        return FactAnswer(fact_id=fact.fact_id, state=stored.state, position=stored.position)


def system_of(actor: str) -> str:
    """Return the name of the business system that acted."""
    return actor.removeprefix(_ACTOR)
