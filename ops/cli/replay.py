"""`cenotaph replay`: what happened, and what was known and true at a time."""

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from events.errors import BadInputError, CenotaphError
from events.model import EVENT_TYPES, Position, Scope, TenantId
from ops import logs
from ops.cli.options import Json, Tenant
from ops.cli.output import bar, err, out
from ops.cli.places import api_key_of, settings_of, stores_of
from ops.cli.replayed import event_json, event_line, memory_json, memory_line
from ops.cli.wiring import compose
from services.access.keys import tenant_of
from services.replay.journal import Window
from services.replay.state import Moment

if TYPE_CHECKING:
    from ops.composition import Composition


def replay(
    *,
    first: Annotated[int, typer.Option("--from", help="The first position.", min=0)] = 0,
    last: Annotated[int | None, typer.Option("--to", help="The last position.", min=0)] = None,
    subject: Annotated[
        str | None, typer.Option(envvar="CENOTAPH_SUBJECT", help="Only this person: your own name for them.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only events of this type.")] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            help="Instead of events: what was recorded of the person by this time, or up to this position.",
            metavar="TIME|POSITION",
        ),
    ] = None,
    valid_at: Annotated[
        str | None,
        typer.Option(help="Instead of events: of what was recorded, what was true at this time.", metavar="TIME"),
    ] = None,
    place: Tenant,
    json: Json = False,
) -> None:
    """Show the events of a tenant in order, or one person's memory as of a time, as they may be read today.

    Bodies are opened with the tenant's key; what was forgotten or has expired since is a stone, as is what was said of
    a sensitive class whose consent is withdrawn. Times are ISO 8601 with an offset: 2026-08-01T09:00:00+08:00. --json
    prints one object a line. Its `record` is "event" (position, envelope, `data`, and `parts`, each with a `state`:
    open, forgotten, expired, consent_withdrawn, lost, tampered or sealed, and the `body` of an open one), or "memory"
    (`status` then, `today`: readable or why not, `valid_from`, `valid_until`, `recorded_at`, `body`).
    """
    logs.configure("warning")
    stating = as_of is not None or valid_at is not None
    if stating and (first or last is not None or kind is not None):
        raise BadInputError(
            "--from, --to and --type choose events, --as-of and --valid-at show a state: not both at once"
        )
    if stating and subject is None:
        raise BadInputError("whose memory? name the person with --subject")
    names = sorted({name for name, _ in EVENT_TYPES})
    if kind is not None and kind not in names:
        raise BadInputError(f"no event is of type {kind}; types are {', '.join(names)}")
    moment = Moment() if as_of is None else _moment(as_of)
    true_at = None if valid_at is None else _time("--valid-at", valid_at)
    asyncio.run(_replay(place, subject, kind, (first, last), (moment, true_at) if stating else None, json=json))


async def _replay(
    place: Tenant,
    subject: str | None,
    kind: str | None,
    positions: tuple[int, int | None],
    state: tuple[Moment, datetime | None] | None,
    *,
    json: bool,
) -> None:
    settings = settings_of(place.data)
    composition = compose(settings, stores_of(settings))
    try:
        tenant = await tenant_of(composition.api_keys, api_key_of(place))
        if tenant is None:
            raise CenotaphError("this API key is unknown or revoked; name another with --key or CENOTAPH_API_KEY")
        person = None if subject is None else await composition.vault("opener").find_subject(tenant, subject)
        if subject is not None and person is None:
            raise BadInputError("this tenant knows nobody of that name; see --subject")
        if state is not None and person is not None:
            await _state(composition, Scope(tenant_id=tenant, subject_id=person), state, json=json)
        else:
            first, last = positions
            window = Window(Position(first), None if last is None else Position(last), person, kind)
            await _events(composition, tenant, window, json=json)
    finally:
        await composition.close()


async def _events(composition: "Composition", tenant: TenantId, window: Window, *, json: bool) -> None:
    first, last = await composition.journal.bounds(window)
    with bar("positions", shown=err.is_terminal and not out.is_terminal) as shown:
        task = shown.add_task("replaying", total=last - first + 1)
        async for upto, entries in composition.journal.replay(tenant, window):
            for entry in entries:
                out.out(event_json(entry)) if json else out.print(event_line(entry))
            shown.update(task, completed=upto - first + 1)


async def _state(
    composition: "Composition", scope: Scope, state: tuple[Moment, datetime | None], *, json: bool
) -> None:
    for each in await composition.history.at(scope, *state):
        out.out(memory_json(each)) if json else out.print(memory_line(each))


def _moment(text: str) -> Moment:
    if text.isascii() and text.isdigit():
        return Moment(position=Position(int(text)))
    return Moment(time=_time("--as-of", text))


def _time(option: str, text: str) -> datetime:
    """Read a time.

    Raises:
        BadInputError: it is none, or leaves open whose clock it means.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadInputError(f"{option} takes a time such as 2026-08-01T09:00:00+08:00") from None
    if at.tzinfo is None:
        raise BadInputError(f"{option} needs an offset, such as {at.isoformat()}+00:00: a bare time may mean any clock")
    return at
