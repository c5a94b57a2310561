"""`cenotaph upkeep`: what upkeep would do, and doing it now."""

import asyncio
from collections import Counter
from typing import Annotated, Self
from uuid import UUID

import typer
from rich.table import Table

from events.model import Frozen, MemoryId, SubjectId, TenantId
from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import out, print_json, print_table
from ops.cli.places import settings_of, stores_of
from ops.cli.wiring import compose
from ops.embedded import Endpoints
from ops.settings import Settings
from services.upkeep.job import Action, Plan


class Line(Frozen):
    """What happens to one person's memory, as `--json` prints it: ids and reasons, nothing that was said."""

    job: str
    tenant_id: TenantId
    subject_id: SubjectId
    done: bool
    actions: tuple[Action, ...]

    @classmethod
    def of(cls, plan: Plan, *, done: bool) -> Self:
        """Read a plan."""
        scope = plan.scope
        return cls(
            job=plan.job, tenant_id=scope.tenant_id, subject_id=scope.subject_id, done=done, actions=plan.actions
        )


def upkeep(
    place: Place,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    undo: Annotated[
        UUID | None, typer.Option("--separate", help="Only separate this memory, which was merged.", metavar="MEMORY")
    ] = None,
    json: Json = False,
) -> None:
    """Do one round of every job of upkeep now: for each person who is due at most one batch of each job.

    The worker `upkeep` does the same by itself. With --json one line for each job and person: the ids and why.
    """
    logs.configure("warning")
    settings = settings_of(place.data)
    if undo is not None:
        asyncio.run(_separate(settings, stores_of(settings), MemoryId(undo)))
        out.print(f"[green]separated[/] {undo}")
        return
    plans = asyncio.run(_round(settings, stores_of(settings), dry_run=dry_run))
    if json:
        print_json([Line.of(plan, done=not dry_run) for plan in plans])
    else:
        _show(plans, dry_run=dry_run)


async def _round(settings: Settings, endpoints: Endpoints, *, dry_run: bool) -> list[Plan]:
    composition = compose(settings, endpoints)
    try:
        rounds = (composition.expiry, composition.tidying())
        return [plan for each in rounds async for plan in (each.plans() if dry_run else each.run())]
    finally:
        await composition.close()


async def _separate(settings: Settings, endpoints: Endpoints, memory: MemoryId) -> None:
    composition = compose(settings, endpoints)
    try:
        await composition.separate(memory)
    finally:
        await composition.close()


def _show(plans: list[Plan], *, dry_run: bool) -> None:
    if not plans:
        out.print("nothing is due")
        return
    persons, items = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for plan in plans:
        for what, count in plan.counts().items():
            persons[plan.job, what] += 1
            items[plan.job, what] += count
    table = Table("job", "would do" if dry_run else "done", "items", "persons", box=None)
    for (job, what), count in items.items():
        table.add_row(job, what.replace(":", " "), str(count), str(persons[job, what]))
    print_table(table)
