"""`cenotaph tenant` and `cenotaph token`: who may call."""

import asyncio
import re
from typing import Annotated

import httpx
import typer

from cenotaph import calls
from cenotaph.auth import BearerAuth
from cenotaph.client import Cenotaph, TokenRole
from cenotaph.transport import PATIENT, Sender
from events.errors import BadInputError
from ops import logs
from ops.cli.forget import forget_whole
from ops.cli.options import Door, Place, Tenant
from ops.cli.output import out
from ops.cli.places import api_key_of, find_door, settings_of, stores_of
from ops.cli.wiring import compose
from services.access.keys import tenant_of

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")
_KEY = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+){0,3}")

tenant = typer.Typer(help="Manage tenants.", no_args_is_help=True)


@tenant.callback()
def _tenants() -> None:
    """Manage tenants."""


def create(place: Place) -> None:
    """Make a tenant and print its API key, which is shown only now."""
    logs.configure("warning")
    settings = settings_of(place.data)
    composition = compose(settings, stores_of(settings))

    async def make() -> str:
        try:
            _, key = await composition.create_tenant()
        finally:
            await composition.close()
        return key

    out.out(asyncio.run(make()))


def forget_tenant(
    *,
    door: Door,
    wait: Annotated[float, typer.Option(help="How many seconds to wait for the signed receipt.", min=0)] = 120.0,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget everybody of the tenant for good, and the tenant, with its API keys."""
    logs.configure("warning")
    address, api_key = find_door(door)
    with Cenotaph(address, token=api_key, timeout_s=30) as own:
        forget_whole(own.preview_tenant(), own.forget_tenant, door, wait, yes=yes)


def system(
    name: Annotated[str, typer.Argument(help="Your name for the business system: letters, digits, - and _.")],
    owns: Annotated[list[str], typer.Option(help="A semantic key that it is the authority for; may be repeated.")],
    *,
    door: Tenant,
) -> None:
    """Register a business system as the owner of semantic keys and print its key, which is shown only now.

    Registering it again replaces its key and what it owns. Takes the owner of the log's database.
    """
    logs.configure("warning")
    if not _NAME.fullmatch(name) or not all(_KEY.fullmatch(key) for key in owns):
        raise BadInputError("a name looks like crm, a semantic key like membership.tier")
    settings = settings_of(door.data)
    composition = compose(settings, stores_of(settings))

    async def make() -> str:
        try:
            tenant_id = await tenant_of(composition.api_keys, api_key_of(door))
            if tenant_id is None:
                raise BadInputError("the tenant's API key is not valid")
            return await composition.register_system(tenant_id, name, frozenset(owns))
        finally:
            await composition.close()

    out.out(asyncio.run(make()))


def token(
    subject: Annotated[str, typer.Argument(help="Your own name for the person.")],
    *,
    role: Annotated[TokenRole, typer.Option(help="What its holder may do.")] = "agent",
    ttl: Annotated[int, typer.Option(help="For how many seconds it is good.", min=1)] = 900,
    project: Annotated[str | None, typer.Option(help="Bind an agent or a workflow to this project.")] = None,
    task: Annotated[str | None, typer.Option(help="Bind it to this task.")] = None,
    assistant: Annotated[str | None, typer.Option(help="Bind it to this assistant.")] = None,
    purpose: Annotated[str | None, typer.Option(help="Bind it to this purpose.")] = None,
    door: Door,
) -> None:
    """Mint a short token for one person and print it, as `XADD turns` wants it."""
    logs.configure("warning")
    address, api_key = find_door(door)
    with httpx.Client(base_url=address, timeout=30) as http:
        minted = Sender(http, BearerAuth(api_key), PATIENT).send(
            calls.token(subject, role, ttl, calls.Bounds(project, task, assistant, purpose))
        )
    out.out(minted.token)
