"""`cenotaph audit verify`: whether the log is what was sealed and signed."""

import asyncio
import json as jsons
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from events.place import Folder
from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import bar, out
from ops.cli.places import log_of, settings_of
from services.audit import reading
from services.audit.evidence import Trust
from services.audit.offline import read_notes, trust_in
from services.audit.reading import copies_of, snapshot
from services.audit.report import Report

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Believed:
    """What an auditor starts from."""

    key: Annotated[
        str | None,
        typer.Option(envvar="CENOTAPH_AUDIT_KEY", help="The first signing key, as `audit key` prints it; pin it once."),
    ] = None
    witness: Annotated[
        list[str] | None,
        typer.Option(envvar="CENOTAPH_AUDIT_WITNESS", help="Public key of a witness; may be repeated."),
    ] = None
    checkpoint: Annotated[
        list[Path] | None, typer.Option(help="A checkpoint you kept; the log must agree with it. May be repeated.")
    ] = None

    def read(self) -> tuple[Trust, list[str]]:
        """Read keys and checkpoints."""
        return trust_in(self.key, self.witness or ()), read_notes(self.checkpoint or ())


def verify(*, believed: Believed, place: Place, json: Json = False) -> None:
    """Check every event, column, body, tree node, key, signature and checkpoint, here and in the second place.

    Exit code 1 if anything is wrong; the first bad position and what is wrong with it come first.
    """
    logs.configure("warning")
    settings = settings_of(place.data)
    trust, held = believed.read()

    async def run(progress: Progress) -> Report:
        database = log_of(settings, "prober")
        try:
            there = await copies_of(database, Folder(settings.second_place), held)
            async with snapshot(database) as connection:
                return await reading.verify(connection, there, trust, progress)
        finally:
            await database.close()

    with progress_of("verifying") as progress:
        report = asyncio.run(run(progress))
    show(report, json=json)


@contextmanager
def progress_of(what: str) -> Iterator[Progress]:
    """Show a bar for as long as something takes."""
    with bar("events") as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)


def show(report: Report, *, json: bool) -> None:
    """Print a report; exit code 1 if anything is wrong."""
    if json:
        out.out(jsons.dumps(report.as_json(), indent=2))
    else:
        for line in report.lines():
            out.print(Text(line))
    if not report.ok:
        raise typer.Exit(1)
