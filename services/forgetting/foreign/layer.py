"""One layer of an application: it erases, and is asked; what only its own word vouches for proves nothing (R47)."""

from collections.abc import Collection, Sequence
from uuid import UUID

from events.envelope import StoredEvent
from events.model import LayerFinding, MemoryId, Scope
from events.postgres import Database
from services.forgetting.foreign.asked import asked_of
from services.forgetting.foreign.endpoint import Endpoint
from services.forgetting.foreign.stores import Store
from services.forgetting.layers import State, finding
from services.forgetting.question import Question

_OWN_WORD = {"by_id": "POST /probe: the application's own word"}


class ForeignLayer:
    """A registered layer, layer and probe in one.

    Where its store can be looked into, that is what its state is computed from, whoever erases. Where it cannot, the
    application's word is all there is: `cannot_prove`, unless whoever registered it vouches for it.

    Args:
        name: as it was registered; in receipts `foreign:NAME`.
        endpoint: the application's own, None where the store alone is registered.
        store: its store, None where only the endpoint is.
        attested: whether the application's word counts.
        prober: a pool under `cenotaph_prober`, for what else of the person lives.
    """

    def __init__(
        self, name: str, endpoint: Endpoint | None, store: Store | None, *, attested: bool, prober: Database
    ) -> None:
        self.name = self.layer = f"foreign:{name}"
        self._endpoint = endpoint
        self._store = store
        self._attested = attested
        self._prober = prober

    async def erase(self, tombstone: StoredEvent, question: Question) -> None:
        """Have it erased: by the application where it has an endpoint, else in its store."""
        del tombstone
        if self._endpoint is not None:
            await self._endpoint.erase(asked_of(question))
        elif self._store is not None:
            await self._store.erase(asked_of(question))

    async def ask(self, question: Question) -> LayerFinding:
        """Look into the store, or take the application's word for what it is."""
        if self._store is not None:
            return await self._look(self._store, question)
        held: Collection[UUID] = ()
        if self._endpoint is not None:
            held = await self._endpoint.held(asked_of(question))
        state: State = "absent" if self._attested else "cannot_prove"
        return finding(self.layer, {"by_id": len(held)}, state, _OWN_WORD)

    async def readers(self) -> Sequence[str]:
        """Name the application: who reads there is its own affair."""
        return (self.layer,)

    async def close(self) -> None:
        """Close the connections."""
        if self._endpoint is not None:
            await self._endpoint.close()

    async def _look(self, store: Store, question: Question) -> LayerFinding:
        seen = await store.look(asked_of(question))
        checks = {"by_id": seen.by_id}
        state: State = "unreclaimed"
        if seen.saying is not None:
            # a copy of a memory that lives is that memory's own; whether it should live the read path says
            living = await self._living(question.scope) - set(question.memories)
            copies = sum(any(str(memory) in place for memory in living) for place in seen.saying)
            forgotten = sum(any(str(memory) in place for memory in question.memories) for place in seen.saying)
            checks |= {"exact_text": len(seen.saying) - copies - forgotten, "neighbours": copies}
            if not question.prepared:
                state = "cannot_prove"
        return finding(self.layer, checks, state, {name: store.queries[name] for name in checks})

    async def _living(self, scope: Scope) -> set[MemoryId]:
        async with self._prober.connection() as connection:
            rows = await connection.fetch(
                "select distinct memory_id from facts.memory where tenant_id = $1 and subject_id = $2"
                " and status <> 'forgotten'",
                scope.tenant_id,
                scope.subject_id,
            )
        return {MemoryId(row["memory_id"]) for row in rows}
