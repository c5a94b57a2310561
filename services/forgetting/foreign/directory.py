"""Which layers of other applications a tenant has registered; their secrets lie in the folder of key files (R47)."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import orjson
from pydantic import Field, TypeAdapter

from events.errors import BadInputError
from events.keyfile import destroy, write_once
from events.model import Frozen, TenantId
from events.postgres import Connection, Database
from services.forgetting.foreign.endpoint import Endpoint
from services.forgetting.foreign.layer import ForeignLayer
from services.forgetting.foreign.signing import RequestSigner
from services.forgetting.foreign.stores import PostgresStore, PostgresTable, RedisKeys, RedisStore, Store

Looking = Annotated[RedisKeys | PostgresTable, Field(discriminator="kind")]
_LOOKING: TypeAdapter[RedisKeys | PostgresTable] = TypeAdapter(Looking)


class Registration(Frozen):
    """A registered layer without its secrets: the endpoint's address, how its store is looked into, who vouches."""

    name: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]{0,39}$")]
    url: str | None
    store: Looking | None
    attested: bool
    added_at: datetime


class Secrets(Frozen):
    """What a registration must not show: the bearer token of its endpoint, the address of its store."""

    bearer: str | None = None
    store_url: str | None = None


class Directory:
    """Keeps registrations and opens the layers of a tenant.

    Args:
        database: for opening, a pool under `cenotaph_eraser`; for adding and removing, the owner's.
        prober: a pool under `cenotaph_prober`.
        folder: the folder of key files.
    """

    def __init__(self, database: Database, prober: Database, folder: Path) -> None:
        self._database = database
        self._prober = prober
        self._folder = folder
        self._signer: RequestSigner | None = None
        self._open: dict[tuple[TenantId, str, datetime], ForeignLayer] = {}

    async def add(self, tenant: TenantId, registration: Registration, secrets: Secrets) -> None:
        """Register a layer; every deletion of the tenant from now on covers it.

        Raises:
            BadInputError: the tenant has a layer of that name.
        """
        async with self._database.transaction() as connection:
            added = await connection.fetchval(
                "insert into ops.layer (tenant_id, name, url, store, attested, added_at)"
                " values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning true",
                tenant,
                registration.name,
                registration.url,
                None if registration.store is None else registration.store.model_dump_json(),
                registration.attested,
                registration.added_at,
            )
            if not added:
                raise BadInputError(f"there is a layer {registration.name} already; remove it first")
            self._secret(tenant, registration.name).parent.mkdir(mode=0o700, exist_ok=True)
            destroy(self._secret(tenant, registration.name))  # of one whose removal was cut short
            write_once(self._secret(tenant, registration.name), secrets.model_dump_json().encode())

    async def remove(self, tenant: TenantId, name: str) -> bool:
        """Remove a layer with its secrets; False where there is none such. Receipts of the past keep naming it."""
        async with self._database.connection() as connection:
            removed = await connection.fetchval(
                "delete from ops.layer where tenant_id = $1 and name = $2 returning true", tenant, name
            )
        destroy(self._secret(tenant, name))
        return bool(removed)

    async def forget(self, tenant: TenantId) -> None:
        """Remove every layer of a tenant that was forgotten as a whole; killed in between, it is simply repeated."""
        for place in [each for each in self._open if each[0] == tenant]:
            await self._open.pop(place).close()
        async with self._database.transaction() as connection:
            for row in await connection.fetch("delete from ops.layer where tenant_id = $1 returning name", tenant):
                destroy(self._secret(tenant, row["name"]))

    async def list(self, tenant: TenantId) -> Sequence[Registration]:
        """List a tenant's layers, by name."""
        async with self._database.connection() as connection:
            return await _read(connection, tenant)

    async def of(self, tenant: TenantId) -> Sequence[ForeignLayer]:
        """Open a tenant's layers; connections and breakers are kept as long as a registration stands."""
        layers = []
        for each in await self.list(tenant):
            place = (tenant, each.name, each.added_at)
            if place not in self._open:
                self._open[place] = self._opened(tenant, each)
            layers.append(self._open[place])
        return layers

    async def close(self) -> None:
        """Close the connections."""
        for layer in self._open.values():
            await layer.close()

    def _opened(self, tenant: TenantId, each: Registration) -> ForeignLayer:
        secrets = Secrets.model_validate_json(self._secret(tenant, each.name).read_bytes())
        self._signer = self._signer or RequestSigner(self._folder)
        endpoint = None if each.url is None else Endpoint(each.url, self._signer, secrets.bearer)
        store = None if each.store is None else store_of(each.store, secrets.store_url or "")
        return ForeignLayer(each.name, endpoint, store, attested=each.attested, prober=self._prober)

    def _secret(self, tenant: TenantId, name: str) -> Path:
        return self._folder / "layers" / f"{UUID(str(tenant))}-{name}.json"


def store_of(looking: RedisKeys | PostgresTable, url: str) -> Store:
    """Open a store."""
    return RedisStore(url, looking) if isinstance(looking, RedisKeys) else PostgresStore(url, looking)


async def _read(connection: Connection, tenant: TenantId) -> Sequence[Registration]:
    rows = await connection.fetch(
        "select name, url, store, attested, added_at from ops.layer where tenant_id = $1 order by name", tenant
    )
    return [Registration(**{**row, "store": _store(row["store"])}) for row in rows]


def _store(value: Any) -> RedisKeys | PostgresTable | None:  # noqa: ANN401 - JSON, read or not
    if value is None:
        return None
    return _LOOKING.validate_python(orjson.loads(value) if isinstance(value, str) else value)
