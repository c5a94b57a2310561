"""`cenotaph backups`: which backups there are, what they may still hold, and dropping one (R44)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer
from rich.table import Table

from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import out, print_json, print_table
from ops.cli.places import settings_of, stores_of
from ops.cli.wiring import compose, drop_backup, list_backups

if TYPE_CHECKING:
    from ops.backup.kept import Kept
    from ops.composition import Composition

T = TypeVar("T")

backups = typer.Typer(help="Look at backups, and drop them.", no_args_is_help=True)


def listing(*, place: Place, json: Json = False) -> None:
    """List backups, what of the deletions since they may still hold, and until when that can be opened."""
    logs.configure("warning")
    found = _with(place, list_backups)
    if json:
        print_json(found)
        return
    table = Table("backup", "begun", "events", "holds", "opens", "log part", "keys", box=None, pad_edge=False)
    for each in found:
        size = "never finished" if each.size is None else str(each.size)
        begun = each.began_at.isoformat(timespec="seconds")
        table.add_row(str(each.backup_id), begun, size, _holds(each), _opens(each), each.log_at, each.keys_at)
    print_table(table)


def drop(
    backup_id: Annotated[UUID, typer.Argument(help="The backup, as `backups list` names it.", metavar="ID")],
    *,
    removed: Annotated[
        bool,
        typer.Option("--removed", help="You removed it, secret and files, where this machine does not reach."),
    ] = False,
    place: Place,
) -> None:
    """Destroy the secret of a backup's keys and remove its files, so that receipts no longer wait for their end.

    A copy of the folders that lies elsewhere is yours to destroy.
    """
    logs.configure("warning")
    dropped = _with(place, lambda composition: drop_backup(composition, backup_id, removed=removed))
    out.print(f"[green]dropped[/] {dropped.backup_id}; {dropped.holds} deletions had their sealed bytes in it")


COMMANDS: dict[str, Callable[..., None]] = {"list": listing, "drop": drop}


def _holds(each: "Kept") -> str:
    if each.dropped_at is not None:
        return "dropped"
    more = f" and up to {each.unanswered} more" if each.unanswered else ""
    return f"{each.holds} deletions{more}"


def _opens(each: "Kept") -> str:
    if each.keys_destroyed_at is not None:
        return f"no, since {each.keys_destroyed_at.isoformat(timespec='seconds')}"
    return f"until {each.keys_die_by.isoformat(timespec='seconds')}"


def _with(place: Place, work: "Callable[[Composition], Awaitable[T]]") -> T:
    settings = settings_of(place.data)
    composition = compose(settings, stores_of(settings))

    async def run() -> T:
        try:
            return await work(composition)
        finally:
            await composition.close()

    return asyncio.run(run())
