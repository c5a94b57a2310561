"""`cenotaph audit export` and `cenotaph audit check`: a log, or a part of it, for somebody without access to it."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from events.place import Folder
from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import out
from ops.cli.places import log_of, settings_of
from ops.cli.verify import Believed, Progress, progress_of, show
from services.audit import check as checking
from services.audit import export as exporting
from services.audit.export import Exported
from services.audit.reading import copies_of, snapshot


def export(
    file: Annotated[Path, typer.Argument(help="The bundle to write; it must not exist.", metavar="FILE")],
    first: Annotated[int | None, typer.Option("--from", help="The first position.", min=0)] = None,
    last: Annotated[int | None, typer.Option("--to", help="The last position.", min=0)] = None,
    *,
    place: Place,
) -> None:
    """Write a bundle that proves what is in the log: envelopes, hashes, checkpoints, keys. Bodies are not in it."""
    logs.configure("warning")
    settings = settings_of(place.data)

    async def run(progress: Progress) -> Exported:
        database = log_of(settings, "prober")
        try:
            there = await copies_of(database, Folder(settings.second_place))
            async with snapshot(database) as connection:
                return await exporting.export(connection, there, file, (first, last), progress)
        finally:
            await database.close()

    with progress_of("exporting") as progress:
        written = asyncio.run(run(progress))
    manifest = written.manifest
    how = f"under the checkpoint of {manifest.proven_by} events" if manifest.proven_by else "the whole log"
    out.print(
        f"[green]exported[/] positions {manifest.first} to {manifest.end - 1}, {how},"
        f" with {written.checkpoints} signed checkpoints, to {file}"
    )


def check(
    bundle: Annotated[Path, typer.Argument(help="The file `audit export` wrote.", metavar="BUNDLE")],
    *,
    believed: Believed,
    json: Json = False,
) -> None:
    """Check a bundle offline: no database, no data key. The extra `audit` is enough to run this command.

    Exit code 1 if anything is wrong; the first bad position and what is wrong with it come first.
    """
    trust, held = believed.read()
    with progress_of("verifying") as progress:
        report = checking.check(bundle, trust, held, progress)
    show(report, json=json)
