"""`cenotaph layers`: copies that other applications keep, so that deletions cover them and receipts name them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import typer
from pydantic import ValidationError
from rich.table import Table

from events.errors import CenotaphError
from events.model import Scope, SubjectId, TenantId
from ops import logs
from ops.cli.options import Json, Place, Tenant
from ops.cli.output import out, print_json, print_table
from ops.cli.places import api_key_of, settings_of, stores_of
from ops.cli.wiring import compose
from services.forgetting.foreign.conformance import Outcome, conformance
from services.forgetting.foreign.directory import Registration, Secrets
from services.forgetting.foreign.endpoint import Endpoint
from services.forgetting.foreign.signing import RequestSigner
from services.forgetting.foreign.stores import PostgresTable, RedisKeys

if TYPE_CHECKING:
    from services.forgetting.foreign.directory import Directory

T = TypeVar("T")

layers = typer.Typer(help="Register copies that other applications keep.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Your name for the layer: small letters, digits, dashes.", metavar="NAME")]
Bearer = Annotated[
    Path | None, typer.Option(help="A file with the bearer token that the endpoint wants.", metavar="FILE")
]
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def add(
    name: Name,
    *,
    url: Annotated[str | None, typer.Option(help="The application's endpoint, without /erase.")] = None,
    bearer_file: Bearer = None,
    store_file: Annotated[
        Path | None,
        typer.Option(help="A file with the address of its store: redis://… or postgresql://….", metavar="FILE"),
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(help="Keys in Redis, such as mem:{tenant}:{subject}:{memory}*.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Table in Postgres, such as rag.documents.")] = None,
    id_column: Annotated[str, typer.Option(help="Its column with our memory id.")] = "memory_id",
    subject_column: Annotated[str | None, typer.Option(help="Its column with our person id.")] = None,
    tenant_column: Annotated[str | None, typer.Option(help="Its column with our tenant id.")] = None,
    text_column: Annotated[str | None, typer.Option(help="Its column with the text.")] = None,
    attested: Annotated[
        bool, typer.Option("--attested", help="You vouch for an endpoint whose store cannot be looked into.")
    ] = False,
    tenant: Tenant,
) -> None:
    """Register a layer of a tenant: an endpoint of the contract, a store to look into, or both.

    With a store, cenotaph looks into it after a deletion, and deletes there itself where there is no endpoint. With an
    endpoint alone a receipt reads cannot_prove and stays pending, unless you vouch for it with --attested.
    """
    logs.configure("warning")
    if url is None and store_file is None:
        raise CenotaphError("name an endpoint with --url, a store with --store-file, or both")
    if attested and (url is None or store_file is not None):
        raise CenotaphError("--attested is for an endpoint without a store to look into")
    store_url = None if store_file is None else _secret(store_file)
    try:
        store = (
            None
            if store_url is None
            else _store(store_url, pattern, table, (id_column, subject_column, tenant_column, text_column))
        )
        registration = Registration(
            name=name,
            url=None if url is None else _endpoint(url),
            store=store,
            attested=attested,
            added_at=datetime.now(UTC),
        )
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc'][-1:]))}: {each['msg']}" for each in error.errors())
        raise CenotaphError(f"this cannot be registered: {wrong}") from None
    secrets = Secrets(bearer=None if bearer_file is None else _secret(bearer_file), store_url=store_url)
    _with(tenant, lambda directory, whose: directory.add(whose, registration, secrets))
    out.print(f"[green]registered[/] {name}; in receipts foreign:{name}")
    if registration.store is None and not attested:
        out.print("[yellow]nothing looks into it[/]: every receipt from now on waits until its person closes it")


def listing(*, tenant: Tenant, json: Json = False) -> None:
    """List a tenant's layers."""
    logs.configure("warning")
    found = _with(tenant, lambda directory, whose: directory.list(whose))
    if json:
        print_json(found)
        return
    table = Table("layer", "endpoint", "looked into", "attested", "since", box=None, pad_edge=False)
    for each in found:
        looked = "" if each.store is None else each.store.model_dump_json(exclude_none=True)
        since = each.added_at.isoformat(timespec="seconds")
        table.add_row(each.name, each.url or "", looked, "yes" if each.attested else "", since)
    print_table(table)


def remove(name: Name, *, tenant: Tenant) -> None:
    """Remove a layer and its secrets; deletions from now on do not cover it."""
    logs.configure("warning")
    if not _with(tenant, lambda directory, whose: directory.remove(whose, name)):
        raise CenotaphError(f"there is no layer {name}; see `cenotaph layers list`")
    out.print(f"[green]removed[/] {name}")


def check(
    url: Annotated[str, typer.Argument(help="The endpoint, without /erase.", metavar="URL")],
    *,
    bearer_file: Bearer = None,
    held: Annotated[UUID | None, typer.Option(help="A memory id it holds and may erase now.")] = None,
    tenant_id: Annotated[UUID | None, typer.Option(help="The tenant whose that is.")] = None,
    subject_id: Annotated[UUID | None, typer.Option(help="The person whose that is.")] = None,
    place: Place,
) -> None:
    """Try your endpoint against the contract; needs nothing that runs, but the keys of the data directory.

    Every request is signed (RFC 9421) with the key whose public half is keys/layers.pub. Exit code 1 if anything fails.
    """
    logs.configure("warning")
    signer = RequestSigner(settings_of(place.data).keys)
    bearer = None if bearer_file is None else _secret(bearer_file)
    scope = None
    if tenant_id is not None and subject_id is not None:
        scope = Scope(tenant_id=TenantId(tenant_id), subject_id=SubjectId(subject_id))

    async def run() -> list[Outcome]:
        endpoint = Endpoint(_endpoint(url), signer, bearer)
        try:
            return [outcome async for outcome in conformance(endpoint, held, scope)]
        finally:
            await endpoint.close()

    outcomes = asyncio.run(run())
    for each in outcomes:
        out.print(f"[green]ok[/]    {each.what}" if each.wrong is None else f"[red]fails[/] {each.what}: {each.wrong}")
    if held is None:
        out.print("[dim]not tried: erasing what it holds; name an id with --held[/]")
    if any(each.wrong is not None for each in outcomes):
        raise typer.Exit(1)


COMMANDS: dict[str, Callable[..., None]] = {"add": add, "list": listing, "remove": remove, "check": check}


def _endpoint(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise CenotaphError("an endpoint starts with https:// and holds neither user, query nor fragment")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise CenotaphError("an endpoint on another machine must start with https://")
    return url.rstrip("/")


def _store(
    url: str, pattern: str | None, table: str | None, columns: tuple[str, str | None, str | None, str | None]
) -> RedisKeys | PostgresTable:
    if url.startswith(("redis://", "rediss://", "unix://")) and pattern is not None and table is None:
        return RedisKeys(pattern=pattern)
    if url.startswith(("postgresql://", "postgres://")) and table is not None and pattern is None:
        return PostgresTable(
            table=table,
            id_column=columns[0],
            subject_column=columns[1],
            tenant_column=columns[2],
            text_column=columns[3],
        )
    raise CenotaphError("a store is redis://… with --pattern, or postgresql://… with --table")


def _secret(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise CenotaphError(f"{file} cannot be read: {error.strerror}") from None


def _with(tenant: Tenant, work: "Callable[[Directory, TenantId], Awaitable[T]]") -> T:
    settings = settings_of(tenant.data)
    composition = compose(settings, stores_of(settings))

    async def run() -> T:
        try:
            whose = await composition.tenant_of(api_key_of(tenant))
            return await work(composition.owners_directory, whose)
        finally:
            await composition.close()

    return asyncio.run(run())
