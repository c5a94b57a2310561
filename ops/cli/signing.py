"""`cenotaph audit key`, `rotate-key` and `cosign`: who signs the log's head, and who else vouches for it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from events.checkpointer import Checkpointer, cosignature_name
from events.errors import BadInputError
from events.note import Checkpoint, Note, VerifierKey
from events.place import Folder
from ops import logs
from ops.cli.options import Place
from ops.cli.output import out
from ops.cli.places import log_of, settings_of
from services.audit.offline import read_notes
from services.audit.reading import part_of

Made = TypeVar("Made")


def key(*, place: Place) -> None:
    """Print the first signing key, from which trust in every later one follows. Give it to auditors; they pin it."""
    out.out(str(_ask(place, lambda checkpointer: checkpointer.first_key())))


def rotate_key(*, place: Place) -> None:
    """Sign the head with the key in force, let it introduce a new key, and destroy it. Pinned keys stay valid."""
    made = _ask(place, lambda checkpointer: checkpointer.rotate())
    out.print(f"[green]rotated[/] key {made.number} signs what is behind the first {made.after} events: {made.key}")


def cosign(
    note: Annotated[Path, typer.Argument(help="A checkpoint with a witness's line, as the witness returned it.")],
    witness: Annotated[str, typer.Option(envvar="CENOTAPH_AUDIT_WITNESS", help="Public key of the witness.")],
    *,
    place: Place,
) -> None:
    """Keep a witness's cosignature (C2SP tlog-cosignature) in the second place, if it holds."""
    logs.configure("warning")
    (raw,) = read_notes([note])
    found, trusted = Note.parse(raw), VerifierKey.parse(witness)
    checkpoint = Checkpoint.parse(found.text)
    if (at := found.cosigned_by(trusted)) is None:
        raise BadInputError(f"{note.name} has no line by {trusted.name} that holds")
    part = part_of(Folder(settings_of(place.data).second_place), checkpoint.origin)
    if part is None:
        raise BadInputError(f"the second place does not know {checkpoint.origin}, whose checkpoint {note.name} is")
    part.put(cosignature_name(checkpoint.size, trusted), raw.encode())
    out.print(f"[green]kept[/] {trusted.name} vouches for {checkpoint.size} events, seen at {at:%Y-%m-%d %H:%M:%S} UTC")


def _ask(place: Place, what: Callable[[Checkpointer], Awaitable[Made]]) -> Made:
    logs.configure("warning")
    settings = settings_of(place.data)

    async def run() -> Made:
        database = log_of(settings, "sealer")
        try:
            return await what(Checkpointer(database, Folder(settings.second_place), settings.keys))
        finally:
            await database.close()

    return asyncio.run(run())
