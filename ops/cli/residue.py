"""`cenotaph audit residue`: whether the raw files of every store still hold what was forgotten (R43)."""

import asyncio
import json as jsons
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.text import Text

from events.errors import BadInputError
from events.model import EventId
from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import out
from ops.cli.places import settings_of, stores_of
from ops.cli.wiring import compose, look_for

if TYPE_CHECKING:
    from services.residue.needle import Find
    from services.residue.search import Search

FOUND, CANNOT_PROVE = 3, 4  # 1 is an error, 2 a wrong option
NOT_PROVEN = (
    "not looked at, and proven by nobody: blocks that a flash disk, a copy-on-write file system or a snapshot keeps of"
    " files that were overwritten or removed; swap; copies on other machines; what left with a prompt or an answer"
)
_SHORTEST = 4
_MB = 1e6

TextFile = Annotated[
    Path | None, typer.Option("--text-file", help="A text a line, UTF-8, each looked for as it is.", metavar="FILE")
]


def residue(
    receipt: Annotated[UUID, typer.Option(help="The receipt of the deletion.")],
    *,
    place: Place,
    text_file: TextFile = None,
    bytes_file: Annotated[
        list[Path] | None,
        typer.Option(help="Bytes that were kept before: a ciphertext, a vector. May be repeated.", metavar="FILE"),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(help="Another folder: data of a store elsewhere, exports, archives. Repeatable.", metavar="DIR"),
    ] = None,
    json: Json = False,
) -> None:
    """Search the raw files of every store for text, ciphertext, wrapped key and vector of what was forgotten.

    Exit code 0: nothing is there. 3: something is, and where. 4: a file could not be read or decoded, so nothing is
    proven of it. As everywhere, 1 is an error and 2 a wrong option.
    """
    logs.configure("warning")
    settings = settings_of(place.data)
    composition = compose(settings, stores_of(settings))
    texts = _lines(text_file)
    raw = {path.name: path.read_bytes() for path in bytes_file or ()}

    async def run() -> "Search":
        try:
            return await look_for(composition, EventId(receipt), texts, raw, [path.absolute() for path in also or ()])
        finally:
            await composition.close()

    search = asyncio.run(run())
    if json:
        out.out(jsons.dumps(_as_json(search), indent=2))
    else:
        for find in _in_order(search):
            out.print(Text(f"found {find.needle.name} in {find.place} ({find.form})"))
        for doubt in sorted(search.doubts):
            out.print(Text(f"cannot prove {doubt.place}: {doubt.why}"))
        out.print(f"searched {search.files} files, {search.bytes / _MB:.1f} MB; {len(search.found)} finds")
        out.print(Text(NOT_PROVEN))
    if search.found:
        raise typer.Exit(FOUND)
    if search.doubts:
        raise typer.Exit(CANNOT_PROVE)


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [line for line in lines if line]
    if short := [number for number, line in enumerate(lines, 1) if line and len(line.encode()) < _SHORTEST]:
        raise BadInputError(f"{path.name}: line {short[0]} is too short, it would be found by chance; give more of it")
    return texts


def _in_order(search: "Search") -> "list[Find]":
    return sorted(search.found, key=lambda find: (find.place, find.needle.name, find.form))


def _as_json(search: "Search") -> dict[str, object]:
    return {
        "clean": not search.found and not search.doubts,
        "found": [{"what": find.needle.name, "place": find.place, "form": find.form} for find in _in_order(search)],
        "cannot_prove": [{"place": doubt.place, "why": doubt.why} for doubt in sorted(search.doubts)],
        "files": search.files,
        "bytes": search.bytes,
        "not_proven": NOT_PROVEN,
    }
