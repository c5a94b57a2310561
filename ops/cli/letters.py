"""`cenotaph dead-letters`: messages that could not be handled, put back or dropped. What they say stays sealed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer
from pydantic import AwareDatetime
from rich.table import Table

from events.errors import CenotaphError
from events.model import Frozen
from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import err, out, print_json, print_table
from ops.cli.places import settings_of, stores_of
from ops.cli.wiring import compose

if TYPE_CHECKING:
    from services.forgetting.letters import Parked
    from workers.letters import LetterBox

L = TypeVar("L", "Letter", "Parked")
T = TypeVar("T")

letters = typer.Typer(help="Look at dead letters, replay or drop them.", no_args_is_help=True)

Ids = Annotated[list[UUID] | None, typer.Argument(help="Letters, as `cenotaph dead-letters list` shows them.")]
All = Annotated[bool, typer.Option("--all", help="All there are.")]
Stream = Annotated[str | None, typer.Option(help="Only those of this stream: turns, remember, erase.")]


class Letter(Frozen):
    """A dead letter without what it says; `position` is what a job was about, `sealed` whether a turn was kept."""

    letter_id: UUID
    stream: str
    entry_id: str
    reason: str
    deliveries: int
    at: AwareDatetime
    position: int | None
    tenant_id: UUID | None
    subject_id: UUID | None
    sealed: bool


def listing(*, stream: Stream = None, place: Place, json: Json = False) -> None:
    """List dead letters, oldest first, without what they say."""
    found = _with_box(place, lambda box: _listed(box, stream))
    if json:
        print_json(found)
        return
    table = Table("letter", "stream", "parked", "deliveries", "reason", "position", "kept", box=None, pad_edge=False)
    for each in found:
        kept = "sealed" if each.sealed else "reason only" if each.position is None else "position"
        row = (each.letter_id, each.stream, each.at.isoformat(timespec="seconds"), each.deliveries, each.reason)
        table.add_row(*map(str, row), "" if each.position is None else str(each.position), kept)
    print_table(table)


def show(
    letter_id: Annotated[UUID, typer.Argument(help="The letter.", metavar="ID")], *, place: Place, json: Json = False
) -> None:
    """Show one dead letter, without what it says."""
    (found,) = _chosen(_with_box(place, lambda box: _listed(box, None)), [letter_id])
    if json:
        print_json(found)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in found.model_dump(mode="json").items():
        table.add_row(name, "" if value is None else str(value))
    print_table(table)


def replay(ids: Ids = None, *, every: All = False, stream: Stream = None, place: Place) -> None:
    """Put dead letters back through the handler they failed in; those that fail again stay.

    Repeating it is harmless: a turn is known by its id, a considered turn is not considered again.
    """
    _each(place, ids, stream, lambda box, letter: box.replay(letter), "replayed", every=every)


def drop(
    ids: Ids = None,
    *,
    every: All = False,
    stream: Stream = None,
    place: Place,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Give dead letters up: a turn of `remember` ends as failed, a foreign turn is destroyed with its key."""
    if not yes:
        typer.confirm("Drop for good?", abort=True)
    _each(place, ids, stream, lambda box, letter: box.drop(letter), "dropped", every=every)


COMMANDS: dict[str, Callable[..., None]] = {"list": listing, "show": show, "replay": replay, "drop": drop}


def _each(
    place: Place,
    ids: Sequence[UUID] | None,
    stream: str | None,
    act: "Callable[[LetterBox, Parked], Awaitable[None]]",
    done: str,
    *,
    every: bool,
) -> None:
    if bool(ids) == every:
        raise CenotaphError("name letters, or say --all")

    async def work(box: "LetterBox") -> int:
        parked = await box.parked(stream)
        failed = 0
        for letter in parked if every else _chosen(parked, ids or ()):
            try:
                await act(box, letter)
            except Exception as error:  # noqa: BLE001 - whatever the handler failed with; its message may hold content
                failed += 1
                err.print(f"[red]failed[/] {letter.letter_id} {type(error).__name__}")
            else:
                out.print(f"[green]{done}[/] {letter.letter_id} {letter.stream}")
        return failed

    if failed := _with_box(place, work):
        raise CenotaphError(f"{failed} letters failed again and stay; `cenotaph dead-letters list` shows them")


def _chosen(letters: Sequence[L], ids: Sequence[UUID]) -> list[L]:
    found = {letter.letter_id: letter for letter in letters}
    if unknown := [each for each in ids if each not in found]:
        raise CenotaphError(f"there is no dead letter {unknown[0]}; `cenotaph dead-letters list` shows them")
    return [found[each] for each in ids]


async def _listed(box: "LetterBox", stream: str | None) -> list[Letter]:
    return [
        Letter(
            letter_id=each.letter_id,
            stream=each.stream,
            entry_id=each.entry_id,
            reason=each.reason,
            deliveries=each.deliveries,
            at=each.at,
            position=each.position,
            tenant_id=each.scope and each.scope.tenant_id,
            subject_id=each.scope and each.scope.subject_id,
            sealed=each.sealed,
        )
        for each in await box.parked(stream)
    ]


def _with_box(place: Place, work: "Callable[[LetterBox], Awaitable[T]]") -> T:
    logs.configure("error")
    settings = settings_of(place.data)
    composition = compose(settings, stores_of(settings))

    async def run() -> T:
        try:
            return await work(composition.letter_box)
        finally:
            await composition.close()

    return asyncio.run(run())
