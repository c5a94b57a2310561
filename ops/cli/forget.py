"""`cenotaph forget`, `suspend`, `resume`: forget or set aside, and watch a receipt fill."""

import time
from collections.abc import Callable, Iterator
from typing import Annotated
from uuid import UUID

import typer
from rich.live import Live
from rich.table import Table

from cenotaph import answers
from cenotaph.calls import ReceiptDecision, What
from cenotaph.client import Cenotaph
from events.errors import CenotaphError
from ops import logs
from ops.cli.offline import check
from ops.cli.options import Door, Person
from ops.cli.output import out, plain, print_table
from ops.cli.places import find_door, memory, settings_of

PENDING = "DELETION_PENDING"
_POLL_S = 0.1
_PAGE = 100
_BLINK_S, _LONGEST_S = 0.03, 1.0
_GOOD = frozenset({"absent", "purged", "masked", "drained"})


def forget(
    memory_id: Annotated[
        UUID | None, typer.Argument(help="The memory, as `cenotaph memories` shows it.", metavar="[ID]")
    ] = None,
    *,
    person: Person,
    about: Annotated[str | None, typer.Option(help="Forget what this describes instead.")] = None,
    message: Annotated[
        tuple[str, str] | None, typer.Option(help="Forget what one message said: your ids of its turn and of it.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="Forget a whole session, by your id of it.")] = None,
    kind: Annotated[str | None, typer.Option(help="Forget every memory of a kind.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="Forget the whole person.")] = False,
    wait: Annotated[float, typer.Option(help="How many seconds to wait for the signed receipt.", min=0)] = 60.0,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget something for good: show what would go, ask, and show what every layer answers until all is signed.

    To set a memory aside and be able to take that back, see `cenotaph suspend`.
    """
    logs.configure("warning")
    if sum(each is not None for each in (memory_id, about, message, session, kind, everything or None)) != 1:
        raise CenotaphError(
            "name one thing: a memory by its id, or one of --about, --message, --session, --kind and --everything"
        )
    if everything:
        with memory(person, role="person") as own:
            forget_whole(own.preview_person(), own.forget_person, person, wait, yes=yes)
        return
    what = about if about is not None else What(message, session, kind)
    with memory(person, role="person") as own:
        asked = _one(own, memory_id, yes=yes) if memory_id is not None else _many(own, what, yes=yes)
        for receipt in asked:
            seen = watch(own, receipt, wait)
            if seen.decision == PENDING:
                raise CenotaphError(
                    f"the deletion is not finished after {wait:.0f} s; it goes on:"
                    f" `cenotaph receipts watch {seen.receipt_id}`"
                )
            check(seen, settings_of(person.data).keys / "receipts.pub")
            out.print(f"[green]signature verified[/]  receipt {seen.receipt_id}")


def forget_whole(
    preview: answers.WholePreview,
    confirmed: Callable[[str], answers.Receipt],
    door: Door,
    wait: float,
    *,
    yes: bool,
) -> None:
    """Show what would go, ask, forget it, and watch the receipt through its capability."""
    out.print(
        f"the whole {preview.scope}: {preview.people} people, {preview.memories} memories, {preview.turns} turns with"
        f" {preview.messages} messages, and whatever comes meanwhile"
    )
    if not yes:
        typer.confirm(f"Forget the whole {preview.scope} for good?", abort=True)
    receipt = confirmed(preview.digest)
    out.print(f"only this opens the receipt {receipt.receipt_id} from now on; keep it:")
    out.out(receipt.capability)
    with Cenotaph(find_door(door)[0], token=receipt.capability, timeout_s=30) as left:
        seen = watch(left, receipt, wait)
    if seen.decision == PENDING:
        raise CenotaphError(f"the deletion is not finished after {wait:.0f} s; it goes on")
    check(seen, settings_of(door.data).keys / "receipts.pub")
    out.print(f"[green]signature verified[/]  receipt {seen.receipt_id}")


def _one(own: Cenotaph, memory_id: UUID, *, yes: bool) -> tuple[answers.Receipt, ...]:
    """Show the memory and what goes with it, ask, and forget it."""
    shown, digest = own.memory(memory_id), None
    if shown.status == "forgotten":
        out.print(plain(f"{shown.kind}: already forgotten"))
    else:
        preview = own.preview(memory_id)
        _tell(preview)
        digest = preview.digest
    if not yes:
        typer.confirm("Forget this for good?", abort=True)
    return (own.forget(memory_id, digest),)


def _many(own: Cenotaph, what: What | str, *, yes: bool) -> tuple[answers.Receipt, ...]:
    """Show all that would go, ask, and forget exactly that."""
    preview = own.preview(what)
    if isinstance(what, str) and not preview.memories:
        raise CenotaphError("nothing is remembered that this describes; see `cenotaph memories`")
    _tell(preview)
    if not yes:
        typer.confirm("Forget all of this for good?", abort=True)
    if isinstance(what, str):
        return own.forget_described(what, preview.digest).receipts
    return (own.forget_what(what, preview.digest),)


def _tell(preview: answers.ForgetPreview) -> None:
    """Show what would go, and what else that touches."""
    for each in preview.memories:
        fits = "" if each.score is None else f", fits {each.score:.2f}"
        out.print(plain(f"{each.kind}: {each.content}  ({each.versions} version(s){fits})"))
    out.print(
        f"{preview.total} memories and {preview.messages} messages of {len(preview.turns)} turns go;"
        f" {len(preview.siblings)} memories lose a source"
    )
    if preview.lifted:
        out.print(f"{preview.lifted} wishes not to remember something go with it: such things are remembered again")
    for sibling in preview.siblings:
        out.print(f"stays without its source: {sibling}")


def suspend(memory_id: Annotated[UUID, typer.Argument(help="The memory.", metavar="ID")], *, person: Person) -> None:
    """Set a memory aside: no agent reads it until `cenotaph resume`. Reversible: nothing is destroyed."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        own.suspend(memory_id)
    out.print(f"suspended {memory_id}; nothing was destroyed, `cenotaph resume {memory_id}` takes it back")


def resume(memory_id: Annotated[UUID, typer.Argument(help="The memory.", metavar="ID")], *, person: Person) -> None:
    """Use a memory again that was set aside."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        own.resume(memory_id)
    out.print(f"resumed {memory_id}")


def watch(own: Cenotaph, receipt: answers.Receipt, wait_s: float) -> answers.Receipt:
    """Ask for a receipt until it is signed or time is up, and show it as it fills."""
    deadline = time.monotonic() + wait_s
    with Live(table_of(receipt, 0), console=out, auto_refresh=False, transient=True) as live:
        while receipt.decision == PENDING and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            receipt = own.receipt(receipt.receipt_id)
        for pause, table in frames(receipt):
            time.sleep(pause)
            live.update(table, refresh=True)
    print_table(table_of(receipt))
    return receipt


def frames(receipt: answers.Receipt) -> Iterator[tuple[float, Table]]:
    """Let a receipt fill on a terminal: layer by layer, in the order and at the pace in which they answered."""
    before = receipt.requested_at
    for count, layer in enumerate(_in_order(receipt) if out.is_terminal else (), 1):
        yield min(max((layer.at - before).total_seconds(), _BLINK_S), _LONGEST_S), table_of(receipt, count)
        before = layer.at


def table_of(receipt: answers.Receipt, count: int | None = None) -> Table:
    """Show what each layer answered, in the order they did; only the first so many where a count is given."""
    table = Table("layer", "state", "asked and found", "after", box=None, pad_edge=False, title_justify="left")
    table.title = f"receipt {receipt.receipt_id}  {receipt.decision}"
    for layer in _in_order(receipt)[:count]:
        after = (layer.at - receipt.requested_at).total_seconds() * 1000
        colour = "green" if layer.state in _GOOD else "red" if layer.state == "present" else "yellow"
        found = "  ".join(f"{name} {count}" for name, count in layer.checks.items())
        table.add_row(layer.layer, f"[{colour}]{layer.state}[/]", found, f"{after:.0f} ms")
    if receipt.keys_die_by is not None:
        when = f"{receipt.keys_die_by:%Y-%m-%d %H:%M} UTC"
        table.caption = f"copies of its keys, in backups and logs of the vault, open nothing from {when} on"
        table.caption_justify = "left"
    return table


def _in_order(receipt: answers.Receipt) -> list[answers.Layer]:
    return sorted(receipt.layers, key=lambda layer: layer.at)


def every_receipt(own: Cenotaph, decision: ReceiptDecision | None = None) -> list[answers.Receipt]:
    """Collect all pages."""
    page = own.receipts(limit=_PAGE, decision=decision)
    found = list(page.receipts)
    while page.next_cursor is not None:
        page = own.receipts(limit=_PAGE, cursor=page.next_cursor, decision=decision)
        found += page.receipts
    return found
