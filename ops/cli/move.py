"""`cenotaph move`: say which readers a memory is for."""

from typing import Annotated
from uuid import UUID

import typer

from ops import logs
from ops.cli.options import Json, Person
from ops.cli.output import out, plain, print_json
from ops.cli.places import memory


def move(
    memory_id: Annotated[UUID, typer.Argument(help="The memory.", metavar="ID")],
    to_project: Annotated[str | None, typer.Option(help="For readers in this project; else it is private.")] = None,
    to_assistant: Annotated[str | None, typer.Option(help="For this assistant alone; else for all.")] = None,
    to_purpose: Annotated[str | None, typer.Option(help="For readers for this purpose alone; else for any.")] = None,
    *,
    person: Person,
    json: Json = False,
) -> None:
    """Say which readers a memory is for from now on. The conversation in which it was said stays where it was."""
    logs.configure("warning")
    with memory(person, role="person") as own:
        moved = own.move(memory_id, project=to_project, assistant=to_assistant, purpose=to_purpose)
    if json:
        print_json(moved)
        return
    readers = [each for each in (moved.project, moved.assistant, moved.purpose) if each is not None]
    out.print(f"{moved.memory_id} v{moved.version} is {moved.visibility}: {plain(' / '.join(readers) or 'for all')}")
