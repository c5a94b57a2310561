"""`cenotaph reindex`: another embedding model for the vector index."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress, TaskID

from events.errors import BadInputError
from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import bar, out, print_json
from ops.cli.places import settings_of, stores_of
from ops.cli.wiring import compose, model_id
from projections.model_names import ModelName

if TYPE_CHECKING:
    from ops.composition import Composition
    from services.upkeep.reindex import Comparison, Standing


def reindex(
    place: Place,
    *,
    model: Annotated[ModelName | None, typer.Option(help="Build the index of this model, or go on with it.")] = None,
    queries: Annotated[int, typer.Option(help="How many stored memories to compare with.", min=1)] = 200,
    least: Annotated[
        float, typer.Option(help="Switch only where the share of equal answers is at least this.", min=0, max=1)
    ] = 0.3,
    stay: Annotated[bool, typer.Option("--no-switch", help="Build and compare only.")] = False,
    grace_hours: Annotated[int, typer.Option(help="How long the old index is kept after the switch.", min=0)] = 24,
    drop: Annotated[bool, typer.Option("--drop", help="Drop what is beside the index that serves.")] = False,
    json: Json = False,
) -> None:
    """Build the vector index of another model beside the one that serves, compare, switch, keep the old one a while.

    Killed at any point, the same command goes on. Without --model it says what there is. With --json one object a line.
    """
    logs.configure("warning")
    settings = settings_of(place.data)
    endpoints = stores_of(settings)

    async def run(work: "Callable[[Composition], Awaitable[None]]") -> None:
        composition = compose(settings, endpoints)
        try:
            await work(composition)
        finally:
            await composition.close()

    async def show(composition: "Composition") -> None:
        _standing(await composition.reindex.standing(), json=json)

    async def dropped(composition: "Composition") -> None:
        if not await composition.reindex.drop():
            raise BadInputError("there is nothing beside the index that serves")
        await show(composition)

    async def change(composition: "Composition") -> None:
        assert model is not None, "the caller looked"  # noqa: S101 - narrows the type
        changing = composition.reindex
        with bar("events") as shown:
            await changing.build(model_id(model), partial(_show, shown, shown.add_task(model, total=None)))
        compared = await changing.compare(queries)
        _compared(compared, json=json)
        if not stay and compared.queries and compared.overlap < least:
            raise BadInputError(
                f"only {compared.overlap:.0%} of the answers are equal; the old index goes on serving;"
                " look, then run this again with --least 0, or with --drop"
            )
        if not stay:
            await changing.switch(timedelta(hours=grace_hours))
        await show(composition)

    asyncio.run(run(dropped if drop else show if model is None else change))


def _compared(compared: "Comparison", *, json: bool) -> None:
    if json:
        print_json(compared)
        return
    out.print(
        f"asked for {compared.queries} memories by their words: {compared.overlap:.0%} of the ten nearest are equal;"
        f" found first by {compared.serving}: {compared.first_serving:.0%}, by {compared.built}:"
        f" {compared.first_built:.0%}",
        markup=False,
    )


def _standing(standing: "Standing", *, json: bool) -> None:
    if json:
        print_json(standing)
        return
    out.print(f"serving: {standing.serving}", markup=False)
    if standing.beside is not None:
        until = standing.kept_until
        what = "being built" if until is None else f"kept until {until:%Y-%m-%d %H:%M} UTC"
        out.print(f"beside it: {standing.beside}, {what}", markup=False)


def _show(shown: Progress, task: TaskID, done: int, of: int) -> None:
    shown.update(task, completed=done, total=of)
