"""`cenotaph status`: what runs, how far it is, what waits."""

import asyncio
from collections.abc import Awaitable

import typer
from pydantic import Field
from rich.table import Table

from events.errors import CenotaphError
from events.log import head
from events.model import Frozen
from events.postgres import Connection
from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import out, print_json, print_table
from ops.cli.places import settings_of, stores_of
from ops.cli.wiring import compose
from ops.embedded import Endpoints
from ops.settings import Settings
from ops.state import running
from projections.model import READ_MODELS
from projections.unreadable import Skipped, skipped
from services.replay.standing import Standing, standings

_SIGN_S = 3.0
_COUNTS = """
select (select count(*) from log.event where type = 'tombstoned')
     - (select count(*) from ops.erasure where propagated_at is not null) as pending,
       (select count(*) from ops.dead_letter) as letters,
       (select count(*) from sessions.turn where not considered) as turns,
       (select count(*) from read_model.unreadable) as unreadable
"""


class Status(Frozen):
    """How the system is. `lag` counts events a read model has not seen yet, `skipped` those it passed over.

    `unreadable` counts memories whose sealed part for the indexes was lost or tampered with; `cenotaph verify` names
    what was tampered with.
    """

    url: str | None
    pid: int | None
    stores: dict[str, str]
    sealed: int | None = None
    lag: dict[str, int] = Field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    compared: tuple[Standing, ...] = ()
    unreadable: int | None = None
    turns_waiting: int | None = None
    pending_deletions: int | None = None
    dead_letters: int | None = None


def status(place: Place, *, json: Json = False) -> None:
    """Show the stores, how far each read model is behind the log, pending deletions and dead letters."""
    logs.configure("error")
    settings = settings_of(place.data)
    found = asyncio.run(_ask(settings, stores_of(settings)))
    if json:
        print_json(found)
    else:
        _show(found)
    if any(word != "ok" for word in found.stores.values()):
        raise typer.Exit(1)


async def _ask(settings: Settings, endpoints: Endpoints) -> Status:
    up = running(settings.data)
    composition = compose(settings, endpoints)
    signs = dict(composition.signs)
    try:
        words = dict(zip(signs, await asyncio.gather(*(_word(sign()) for sign in signs.values())), strict=True))
        found = Status(url=up and up.url, pid=up and up.pid, stores=words)
        if words["log"] != "ok":
            return found
        async with composition.log("prober").connection() as connection:
            return found.model_copy(update=await _numbers(connection))
    finally:
        await composition.close()


async def _numbers(connection: Connection) -> dict[str, object]:
    sealed = await head(connection) + 1
    query = "select name, position from read_model.checkpoint where place <> 'nowhere' order by name"
    rows = await connection.fetch(query)
    counts = await connection.fetchrow(_COUNTS)
    assert counts is not None, "an aggregate has one row"  # noqa: S101 - narrows the type
    return {
        "sealed": sealed,
        "skipped": tuple(await skipped(connection)),
        "compared": tuple(each for each in await standings(connection) if each.compared_at is not None),
        "lag": {row["name"]: max(0, sealed - 1 - row["position"]) for row in rows},
        "unreadable": counts["unreadable"],
        "turns_waiting": counts["turns"],
        "pending_deletions": counts["pending"],
        "dead_letters": counts["letters"],
    }


async def _word(sign: Awaitable[None]) -> str:
    try:
        await asyncio.wait_for(sign, _SIGN_S)
    except (CenotaphError, OSError, TimeoutError):
        return "down"
    return "ok"


def _show(found: Status) -> None:
    if found.pid is not None:
        out.print(f"up as process {found.pid}, listens on {found.url}")
    table = Table("what", "state", box=None, pad_edge=False)
    for name, word in found.stores.items():
        table.add_row(name, f"[green]{word}[/]" if word == "ok" else f"[red]{word}[/]")
    if found.sealed is not None:
        table.add_row("events sealed", str(found.sealed))
        for name, lag in found.lag.items():
            table.add_row(f"{name} behind by", str(lag))
        for each in found.skipped:
            what = f"{each.events} × {each.type} v{each.schema_version}, from position {each.first}"
            then = f", then `cenotaph rebuild {each.model}`" if each.model in READ_MODELS else ""
            table.add_row(f"{each.model} skipped", f"[red]{what}; upgrade{then}[/]")
        for model in found.compared:
            word = f"[red]{model.differences} differences[/]" if model.differences else "[green]as the log says[/]"
            table.add_row(f"{model.model} compared", f"{word} at position {model.position}, {model.compared_at:%F %T}")
        table.add_row("bodies unreadable", str(found.unreadable))
        table.add_row("turns waiting", str(found.turns_waiting))
        table.add_row("deletions pending", str(found.pending_deletions))
        table.add_row("dead letters", str(found.dead_letters))
    print_table(table)
