"""`cenotaph keys`: how the keys of the vault are, and rolling them by hand."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, TypeVar

import typer
from pydantic import Field
from rich.table import Table

from events.errors import CenotaphError
from events.model import Frozen
from events.rewrap import Counts
from events.roll import KeyState, Roller
from events.schedule import ALLOWANCE, Schedule
from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import out, print_json, print_table
from ops.cli.places import settings_of, stores_of
from ops.cli.wiring import compose

T = TypeVar("T")
Ask = Callable[[Roller, Schedule], Awaitable[T]]

keys = typer.Typer(help="Look after the keys of the vault.", no_args_is_help=True)


class KeyStatus(Frozen):
    """How the keys are. `trouble` says in words what is wrong, if anything is."""

    oldest_epoch: datetime | None
    next_roll: datetime
    people_due: int
    trouble: tuple[str, ...] = Field(default=())


def roll(
    *,
    place: Place,
    now: Annotated[bool, typer.Option("--now", help="Roll in any case, not only where a roll is due.")] = False,
) -> None:
    """Give new keys to everybody who forgot something, and destroy the old epoch; where it is due, or now."""
    logs.configure("warning")

    async def turn(roller: Roller, schedule: Schedule) -> Counts | None:
        return await roller.roll(None if now else schedule.latest(datetime.now(UTC)))

    counts = _ask(place, turn)
    if counts is None:
        raise CenotaphError("another process is rolling the keys; look at `cenotaph keys status` in a moment")
    if counts == Counts():
        out.print("nothing is due" if not now else "there are no keys yet")
        return
    out.print(
        f"[green]rolled[/] {counts.tenants} tenants; new keys: {counts.new_tenant_keys} of tenants,"
        f" {counts.new_person_keys} of people; rewrapped: {counts.people} people, {counts.data_keys} data keys;"
        f" epochs destroyed: {counts.epochs_destroyed}"
    )
    if counts.unreadable:
        raise CenotaphError(f"{counts.unreadable} wrapped keys do not open; what they sealed was lost before this roll")


def status(*, place: Place, json: Json = False) -> None:
    """Show how old the keys are, when they roll next, who waits, and whether the provider holds what it should."""
    logs.configure("warning")

    async def look(roller: Roller, schedule: Schedule) -> KeyStatus:
        return judged(await roller.state(), schedule, datetime.now(UTC))

    found = _ask(place, look)
    if json:
        print_json(found)
    else:
        table = Table("what", "state", box=None, pad_edge=False)
        born = found.oldest_epoch
        table.add_row("oldest epoch", "none yet" if born is None else f"{born:%Y-%m-%d %H:%M:%S} UTC")
        table.add_row("next roll", f"{found.next_roll:%Y-%m-%d %H:%M} UTC")
        table.add_row("people waiting for it", str(found.people_due))
        print_table(table)
        for words in found.trouble:
            out.print(f"[red]{words}[/]")
    if found.trouble:
        raise typer.Exit(1)


def judged(state: KeyState, schedule: Schedule, now: datetime) -> KeyStatus:
    """Say what is wrong with the keys."""
    trouble = [
        f"the key of epoch {epoch} is not with the provider: nothing under it opens; restore the key folder"
        for epoch in sorted(state.missing)
    ]
    overdue = state.oldest is not None and state.oldest < schedule.latest(now - ALLOWANCE)
    if overdue:
        trouble.append("a roll is overdue: is `cenotaph worker roll` running? its log says what stops it")
    if state.interrupted:
        trouble.append("a roll was interrupted or is under way; the next one goes on with it")
    trouble += [
        f"the provider holds epoch {epoch}, which this vault does not know; it is left alone"
        for epoch in sorted(state.unknown)
    ]
    return KeyStatus(
        oldest_epoch=state.oldest, next_roll=schedule.after(now), people_due=state.due, trouble=tuple(trouble)
    )


def _ask(place: Place, ask: Ask[T]) -> T:
    settings = settings_of(place.data)
    composition = compose(settings, stores_of(settings))

    async def asked() -> T:
        try:
            return await ask(composition.roller, composition.schedule)
        finally:
            await composition.close()

    return asyncio.run(asked())


COMMANDS: dict[str, Callable[..., None]] = {"roll": roll, "status": status}
