"""`cenotaph where`: which layers hold a memory now, and who may read it there."""

from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from ops import logs
from ops.cli.options import Json, Person
from ops.cli.output import coloured, out, print_json, print_table
from ops.cli.places import memory

_HOLDS = {True: "[yellow]yes[/]", False: "[green]no[/]", None: "[red]not known[/]"}


def where(
    memory_id: Annotated[UUID, typer.Argument(help="The memory, also a forgotten one.", metavar="ID")],
    *,
    person: Person,
    json: Json = False,
) -> None:
    """Ask every layer for a memory by its ids: whether it is there, at which version, who may read it there.

    The same raw reads as a receipt is made of. What a layer cannot be asked reads "not known".
    """
    logs.configure("warning")
    with memory(person, role="person") as own:
        found = own.where(memory_id)
    if json:
        print_json(found)
        return
    readers = ", ".join(found.readers) or "nobody"
    out.print(f"{found.memory_id} ", coloured(found.status), f"; the API gives its content to: {readers}", sep="")
    table = Table("layer", "there", "versions", "position", "asked and found", "who may read", box=None, pad_edge=False)
    for each in found.layers:
        table.add_row(
            each.layer,
            _HOLDS[each.holds],
            " ".join(map(str, each.versions)),
            "" if each.position is None else str(each.position),
            "  ".join(f"{name} {count}" for name, count in each.checks.items()),
            " ".join(each.readers),
        )
    print_table(table)
