"""`cenotaph rebuild`: read models made anew from the log, beside the ones that serve."""

import asyncio
from functools import partial
from typing import Annotated, Literal

import typer
from rich.progress import Progress, TaskID

from ops import logs
from ops.cli.options import Place
from ops.cli.output import bar, out
from ops.cli.places import settings_of, stores_of
from ops.cli.wiring import compose
from ops.embedded import Endpoints
from ops.settings import Settings
from projections.follower import Follower
from projections.model import ReadModel

Name = Literal[ReadModel, "all"]


def rebuild(
    name: Annotated[Name, typer.Argument(help="Which read model.")],
    place: Place,
) -> None:
    """Build a read model anew from the log and swap it in; readers go on with the old one until then."""
    logs.configure("warning")
    settings = settings_of(place.data)
    endpoints = stores_of(settings)
    with bar("events") as shown:
        counts = asyncio.run(_rebuild(settings, endpoints, name, shown))
    for built, count in counts.items():
        out.print(f"[green]rebuilt[/] {built} from {count} events")


async def _rebuild(settings: Settings, endpoints: Endpoints, name: Name, shown: Progress) -> dict[str, int]:
    composition = compose(settings, endpoints)
    counts = {}
    try:
        owner = composition.log(None)
        for model in composition.projections().values():
            if name in {"all", model.name}:
                progress = partial(_show, shown, shown.add_task(model.name, total=None))
                counts[model.name] = await Follower(model, owner).rebuild(progress)
    finally:
        await composition.close()
    return counts


def _show(shown: Progress, task: TaskID, done: int, of: int) -> None:
    shown.update(task, completed=done, total=of)
