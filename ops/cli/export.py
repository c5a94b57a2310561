"""`cenotaph export`: memories as a file of JSON lines, and what of such a file has been forgotten since."""

import json as jsonlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, BinaryIO
from uuid import UUID

import typer
from rich.table import Table

from cenotaph.calls import ExportPurpose
from cenotaph.client import Cenotaph
from cenotaph.lines import Lines
from events.errors import BadInputError, CenotaphError, TamperError
from ops import logs
from ops.cli.options import Json, Person
from ops.cli.output import out, print_json, print_table
from ops.cli.places import find_door, memory, require_outside, settings_of

exports = typer.Typer(help="Write memories to a file, and check such files later.", no_args_is_help=True)

Everybody = Annotated[
    bool, typer.Option("--everybody", help="As the tenant: of every person who agreed to `training`, not of one.")
]


def write(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.", metavar="FILE")],
    *,
    purpose: Annotated[ExportPurpose, typer.Option(help="What it is for; it is registered.")] = "download",
    everybody: Everybody = False,
    person: Person,
) -> None:
    """Write memories as JSON lines into a file that only you may read (mode 0600), outside the data directory.

    One person's own: everything that is kept of them. With --everybody what is current of those who agreed, without
    sensitive classes. Later deletions name this export; `cenotaph export check FILE` says what has been forgotten.
    """
    logs.configure("warning")
    require_outside(settings_of(person.data), file)
    with _door(person, everybody=everybody) as door, _private(file) as to:
        for line in door.export(purpose):
            to.write(line)
            last = line
    tail = jsonlib.loads(last)
    out.print(f"[green]exported[/] {tail['memories']} memories for {purpose} to {file}, export {tail['export_id']}")
    for why, count in tail["left_out"].items():
        out.print(f"[dim]left out {count}: {why}[/]")


def listing(*, everybody: Everybody = False, person: Person, json: Json = False) -> None:
    """List the newest exports: when, for what, how many memories, whether they left whole."""
    logs.configure("warning")
    with _door(person, everybody=everybody) as door:
        found = door.exports().exports
    if json:
        print_json(found)
        return
    table = Table("export", "purpose", "at", "memories", "digest", box=None, pad_edge=False)
    for each in found:
        at, digest = each.at.isoformat(timespec="seconds"), (each.digest or "cut short")[:12]
        table.add_row(str(each.export_id), each.purpose, at, str(each.memories), digest)
    print_table(table)


def check(
    file: Annotated[Path, typer.Argument(help="A file that `cenotaph export write` wrote.", metavar="FILE")],
    *,
    everybody: Everybody = False,
    person: Person,
    json: Json = False,
) -> None:
    """Say which lines of a file have been forgotten since; exit code 1 if there are any, or if it was changed.

    Lines are counted as an editor counts them. Delete them, or write the export anew.
    """
    logs.configure("warning")
    export_id, digest, where = _read(file)
    with _door(person, everybody=everybody) as door:
        found = door.export_detail(export_id)
    if found.digest != digest:
        raise TamperError(f"{file} is not the export that was registered as {export_id}: its digest is another one")
    gone = sorted(where.get((each.memory_id, each.version), 0) for each in found.forgotten)
    gone = [line for line in gone if line]
    if json:
        out.out(jsonlib.dumps({"export_id": str(export_id), "forgotten_lines": gone}))
    elif gone:
        out.print(f"[red]forgotten since[/]: line{'s' * (len(gone) > 1)} {', '.join(map(str, gone))}")
    else:
        out.print(f"[green]nothing of it has been forgotten[/], export {export_id}")
    if gone:
        raise typer.Exit(1)


COMMANDS: dict[str, Callable[..., None]] = {"write": write, "list": listing, "check": check}


def _read(file: Path) -> tuple[UUID, str, dict[tuple[UUID, int], int]]:
    """Read a file: its export, its digest, and on which line each memory version stands."""
    digest, lines, last, number = sha256(), Lines(), b"", 0
    where: dict[tuple[UUID, int], int] = {}
    try:
        with file.open("rb") as rows:
            for number, row in enumerate(rows, 1):
                lines.cut(row)
                digest.update(last)
                last = row
                read = jsonlib.loads(row)
                if "memory_id" in read:
                    where[UUID(read["memory_id"]), int(read["version"])] = number
        lines.end()
        return UUID(jsonlib.loads(last)["export_id"]), digest.hexdigest(), where
    except OSError as error:
        raise BadInputError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise TamperError(f"{file} is no export, or line {number} of it was changed") from None


@contextmanager
def _private(file: Path) -> Iterator[BinaryIO]:
    """Make a file that only its owner may read; what is not written to its end is removed."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CenotaphError(f"{file} cannot be made: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as to:
            yield to
            to.flush()
            os.fsync(to.fileno())
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _door(person: Person, *, everybody: bool) -> Cenotaph:
    if not everybody:
        return memory(person, role="person")
    address, key = find_door(person)
    return Cenotaph(address, token=key, timeout_s=30)
