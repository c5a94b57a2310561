"""Everything behind the door, as one object."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from events.errors import CenotaphError, UnavailableError
from events.model import EventId, MemoryId, Position, Scope, SubjectId, TenantId
from events.postgres import Database
from events.vault import Vault
from projections.follower import position_of
from services.access.keys import KeyStore, tenant_of
from services.forgetting.forget import Forgetter
from services.forgetting.receipts import Receipts
from services.recall.catalogue import Catalogue
from services.recall.contexts import Contexts
from services.remembering.ingest import Ingest
from services.wire.memories import MemoryDetail, MemoryPage, MemoryStatus
from services.wire.recall import ContextAnswer, ContextRequest, SearchAnswer, SearchRequest
from services.wire.receipts import ReceiptPage, ReceiptView
from services.wire.turns import TurnAnswer, TurnIn, TurnOutcome

_POLL_S = 0.02
_REACH_S = 5.0
_ERASED_WITHIN_S = 2.0
_ACTOR = "agent"


@dataclass(frozen=True)
class System:
    """The services a door needs; implements `services.api.backend.Backend`."""

    ingest: Ingest
    contexts: Contexts
    catalogue: Catalogue
    forgetter: Forgetter
    receipt_book: Receipts
    vault: Vault
    keys: KeyStore
    reader: Database
    stores: Mapping[str, Callable[[], Awaitable[None]]]

    async def finalize(self, scope: Scope, turn: TurnIn) -> TurnAnswer:
        """Store a finished turn, or find that it is known or forgotten."""
        return await self.ingest.finalize(scope, turn, _ACTOR)

    async def turn_outcome(self, scope: Scope, turn_id: str) -> TurnOutcome | None:
        """Say what became of a turn."""
        return await self.catalogue.outcome(scope, turn_id)

    async def context(self, scope: Scope, request: ContextRequest) -> ContextAnswer:
        """Compile context for an agent."""
        await self._reach(request.at_least)
        return await self.contexts.compile(scope, request)

    async def search(self, scope: Scope, request: SearchRequest) -> SearchAnswer:
        """Search the person's memories."""
        await self._reach(request.at_least)
        return await self.contexts.search(scope, request)

    async def memories(self, scope: Scope, status: MemoryStatus | None, limit: int, cursor: str | None) -> MemoryPage:
        """List memories, newest first."""
        return await self.catalogue.page(scope, status, limit, cursor)

    async def memory(self, scope: Scope, memory_id: MemoryId) -> MemoryDetail | None:
        """Show one memory with its versions."""
        return await self.catalogue.show(scope, memory_id)

    async def forget(self, scope: Scope, memory_id: MemoryId) -> ReceiptView | None:
        """Fence a memory, then give the erasing worker a moment to finish before answering."""
        tombstone = await self.forgetter.forget(scope, memory_id, _ACTOR)
        if tombstone is None:
            return None
        deadline = asyncio.get_running_loop().time() + _ERASED_WITHIN_S
        while True:
            receipt = await self.receipt_book.show(scope, tombstone)
            done = receipt is not None and receipt.decision == "deletion_propagated"
            if done or asyncio.get_running_loop().time() > deadline:
                return receipt
            await asyncio.sleep(_POLL_S)

    async def receipt(self, scope: Scope, receipt_id: EventId) -> ReceiptView | None:
        """Show how far one deletion has come."""
        return await self.receipt_book.show(scope, receipt_id)

    async def receipts(self, scope: Scope, limit: int, cursor: str | None) -> ReceiptPage:
        """List receipts, newest first."""
        return await self.receipt_book.page(scope, limit, cursor)

    async def subject(self, tenant_id: TenantId, outside: str) -> SubjectId:
        """Return the internal id of a person, made on first use."""
        return await self.vault.subject(tenant_id, outside)

    async def tenant_of_key(self, key: str) -> TenantId | None:
        """Return whose API key this is."""
        return await tenant_of(self.keys, key)

    async def health(self) -> dict[str, str]:
        """Ask every store for a sign of life."""
        return dict(await asyncio.gather(*(_sign(name, ask) for name, ask in self.stores.items())))

    async def _reach(self, position: int | None) -> None:
        """Wait until the read models have seen a position.

        Raises:
            UnavailableError: they do not get there in time.
        """
        deadline = asyncio.get_running_loop().time() + _REACH_S
        while position is not None:
            async with self.reader.connection() as connection:
                reached = min([await position_of(connection, name) for name in ("facts", "sessions")])
            if reached >= Position(position):
                return
            if asyncio.get_running_loop().time() > deadline:
                raise UnavailableError("the read models have not reached this position yet; try again")
            await asyncio.sleep(_POLL_S)


async def _sign(name: str, ask: Callable[[], Awaitable[None]]) -> tuple[str, str]:
    try:
        await asyncio.wait_for(ask(), 2.0)
    except (CenotaphError, OSError, TimeoutError):
        return name, "down"
    return name, "ok"
