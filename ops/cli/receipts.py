"""`cenotaph receipts`: list deletions, show or watch one, check a receipt offline, close what cannot be proven."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from cenotaph import answers
from cenotaph.calls import ReceiptDecision
from events.errors import BadInputError
from ops import logs
from ops.cli.forget import PENDING, every_receipt, table_of, watch
from ops.cli.offline import check, said
from ops.cli.options import Json, Person, Place
from ops.cli.output import out, print_json, print_table
from ops.cli.places import memory, settings_of

receipts = typer.Typer(help="Look at deletions and their receipts.", no_args_is_help=True)

Id = Annotated[UUID, typer.Argument(help="The receipt.", metavar="ID")]
_POLL_S = 1.0
_UNASKED = {
    "unread": "what was said could not be read before it was destroyed, so nobody can ask for it",
    "expired": "it was pending for more than a day, and what was asked for is destroyed by then",
    "restored": "a backup was brought back, without what was forgotten, so nobody can ask for it",
}


def listing(
    *,
    decision: Annotated[ReceiptDecision | None, typer.Option(help="Only those that have come so far.")] = None,
    person: Person,
    json: Json = False,
) -> None:
    """List deletions, newest first."""
    logs.configure("warning")
    with memory(person) as own:
        found = every_receipt(own, decision)
    if json:
        print_json(found)
        return
    table = Table("receipt", "what", "decision", "requested", box=None, pad_edge=False)
    for each in found:
        requested = each.requested_at.isoformat(timespec="seconds")
        table.add_row(str(each.receipt_id), str(each.memory_id or each.scope), each.decision, requested)
    print_table(table)


def show(receipt_id: Id, *, person: Person, json: Json = False) -> None:
    """Show one with what every layer answered, and check its signatures."""
    logs.configure("warning")
    with memory(person) as own:
        found = own.receipt(receipt_id)
    if json:
        print_json([found])
        return
    print_table(table_of(found))
    if found.decision == PENDING and found.unasked is not None:
        out.print(f"[yellow]cannot be proven:[/] {_UNASKED[found.unasked]}; its person may close it")
    if found.decision != PENDING:
        check(found, settings_of(person.data).keys / "receipts.pub")
        out.print("[green]signature verified[/]")


def follow(
    receipt_id: Id,
    *,
    purged: Annotated[bool, typer.Option("--purged", help="Until the bytes are gone too.")] = False,
    wait: Annotated[float, typer.Option(help="For how many seconds at most.", min=0)] = 86_400.0,
    person: Person,
) -> None:
    """Watch one fill, layer by layer, until it is signed; with --purged until the second one is signed too."""
    logs.configure("warning")
    deadline = time.monotonic() + wait
    with memory(person) as own:
        seen = watch(own, own.receipt(receipt_id), wait)
        while purged and seen.end is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            seen = own.receipt(receipt_id)
    if seen.end is not None:
        out.print(f"{seen.decision} {seen.end.at.isoformat(timespec='seconds')}")


def verify(
    file: Annotated[Path, typer.Argument(help="A receipt as JSON, as `show --json` or the API gave it.")],
    *,
    key: Annotated[Path | None, typer.Option(help="The public key; else that of the data directory.")] = None,
    place: Place,
) -> None:
    """Check a receipt with the public key alone: its signatures, and that its other fields say what was signed."""
    logs.configure("warning")
    try:
        receipt = answers.Receipt.model_validate_json(file.read_bytes())
    except (OSError, ValueError):
        raise BadInputError(f"{file} is no receipt as `cenotaph receipts show --json` prints one") from None
    public = key or settings_of(place.data).keys / "receipts.pub"
    if not public.exists():
        raise BadInputError(f"there is no public key at {public}; name it with --key")
    check(receipt, public)
    out.print(f"[green]signature verified[/]  {said(receipt)}")


def close(receipt_id: Id, *, person: Person) -> None:
    """Close, as the person, a deletion of which a layer can never prove anything; its receipt says so for ever."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        closed = own.close_receipt(receipt_id)
    out.print(f"{closed.decision} {closed.receipt_id}")


COMMANDS: dict[str, Callable[..., None]] = {
    "list": listing,
    "show": show,
    "watch": follow,
    "check": verify,
    "close": close,
}
