"""`cenotaph tenant` and `cenotaph token`: who may call."""

import asyncio
from typing import Annotated

import httpx
import typer

from cenotaph import calls
from cenotaph.auth import BearerAuth
from cenotaph.client import Cenotaph, TokenRole
from cenotaph.transport import PATIENT, Sender
from ops import logs
from ops.cli.forget import forget_whole
from ops.cli.options import Door, Place
from ops.cli.output import out
from ops.cli.places import find_door, settings_of, stores_of
from ops.cli.wiring import compose

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


def token(
    subject: Annotated[str, typer.Argument(help="Your own name for the person.")],
    *,
    role: Annotated[TokenRole, typer.Option(help="What its holder may do.")] = "agent",
    ttl: Annotated[int, typer.Option(help="For how many seconds it is good.", min=1)] = 900,
    door: Door,
) -> None:
    """Mint a short token for one person and print it, as `XADD turns` wants it."""
    logs.configure("warning")
    address, api_key = find_door(door)
    with httpx.Client(base_url=address, timeout=30) as http:
        minted = Sender(http, BearerAuth(api_key), PATIENT).send(calls.token(subject, role, ttl))
    out.out(minted.token)
