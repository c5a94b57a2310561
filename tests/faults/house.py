"""Servers that outlive every life of the system, and somebody who may look behind them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from events.model import Scope, SubjectId, TenantId
from ops.composition import Composition
from ops.embedded import Embedded
from ops.settings import load_settings


@dataclass(frozen=True)
class House:
    """The stores, their folder, and a tenant with an API key."""

    composition: Composition
    embedded: Embedded
    data: Path
    tenant: TenantId
    key: str

    async def scope(self, person: str) -> Scope:
        """Return whose rows to look for."""
        subject = await self.composition.vault("keeper").subject(self.tenant, person)
        return Scope(tenant_id=self.tenant, subject_id=SubjectId(UUID(str(subject))))


@asynccontextmanager
async def housed(data: Path) -> AsyncIterator[House]:
    """Run the servers on a folder of their own."""
    settings = load_settings(data=data)
    with Embedded(settings) as embedded:
        composition = Composition(settings, embedded.endpoints)
        await composition.migrate()
        tenant, key = await composition.create_tenant()
        try:
            yield House(composition, embedded, data, tenant, key)
        finally:
            await composition.close()
