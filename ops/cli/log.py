"""`cenotaph replay`: the log as it is."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import orjson
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from events.envelope import StoredEvent
from events.errors import CenotaphError
from events.log import head, read_sealed
from events.model import EVENT_TYPES, Position
from events.postgres import Database
from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import err, out
from ops.cli.places import log_of, settings_of

_BATCH = 500


def replay(
    first: Annotated[int, typer.Option("--from", help="The first position.", min=0)] = 0,
    last: Annotated[int | None, typer.Option("--to", help="The last position.", min=0)] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only events of this type.")] = None,
    *,
    place: Place,
    json: Json = False,
) -> None:
    """List the events of the sealed log by position. Bodies stay sealed: nothing a person said is shown."""
    logs.configure("warning")
    known = sorted({name for name, _ in EVENT_TYPES})
    if kind is not None and kind not in known:
        raise CenotaphError(f"no event is of type {kind}; types are {', '.join(known)}")

    async def show() -> None:
        database = log_of(settings_of(place.data), "prober")
        try:
            async for event in sealed(database, first, last):
                if kind in {None, event.type}:
                    out.out(as_json(event)) if json else out.print(as_line(event))
        finally:
            await database.close()

    asyncio.run(show())


async def sealed(database: Database, first: int, last: int | None) -> AsyncIterator[StoredEvent]:
    """Read the sealed log from a position on, as far as it reaches now."""
    async with database.connection() as connection:
        end = await head(connection) if last is None else Position(last)
        position = Position(first - 1)
        while position < end:
            events = await read_sealed(connection, position, min(_BATCH, end - position))
            if not events:
                return
            for event in events:
                yield event
            position = events[-1].position or Position(0)


def as_json(event: StoredEvent) -> str:
    """Write an event as one JSON object: its envelope without ciphertexts, and its position."""
    return orjson.dumps(
        {
            "position": event.position,
            "tenant_id": event.scope.tenant_id,
            "subject_id": event.scope.subject_id,
            "stream": event.stream,
            "version": event.version,
            "event_id": event.event_id,
            "command_id": event.command_id,
            "type": event.type,
            "schema_version": event.schema_version,
            "occurred_at": event.occurred_at,
            "recorded_at": event.recorded_at,
            "actor": event.actor,
            "parts": [{"part": part.name, "key_id": part.key_id, "sha256": part.digest.hex()} for part in event.parts],
            "data": event.document,
        }
    ).decode()


def as_line(event: StoredEvent) -> Text:
    """Write an event as one line."""
    stream = event.stream.partition("/")[0]
    return Text.assemble(
        (f"{event.position:>6} ", "bold"),
        (f"{event.type:<16}", "cyan"),
        f" {stream:<8} v{event.version:<4} {event.occurred_at:%Y-%m-%d %H:%M:%S}",
        (f" recorded {event.recorded_at:%Y-%m-%d %H:%M:%S.%f} ", "dim"),
        orjson.dumps(event.document).decode(),
        no_wrap=out.is_terminal,
        overflow="ellipsis",
    )


def bar(unit: str) -> Progress:
    """Make a progress bar on stderr."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
