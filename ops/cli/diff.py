"""`cenotaph audit diff`: whether the read models that serve say what the log says."""

import asyncio

import typer
from rich.progress import Progress, TaskID
from rich.text import Text

from ops import logs
from ops.cli.options import Json, Place
from ops.cli.output import bar, out, print_json
from ops.cli.places import settings_of, stores_of
from ops.cli.wiring import compose
from ops.embedded import Endpoints
from ops.settings import Settings
from services.replay.compare import Difference, Report

_SHOWN = 20


def diff(place: Place, *, json: Json = False) -> None:
    """Build every read model anew beside the live one, and name every entry that differs; exit code 1 if one does.

    With --json one line a read model: its name, the position it was compared at, how many entries were compared, are
    missing, extra or differ, and the first 1000 differences, each with table, kind, tenant, id and columns. Never what
    an entry holds.
    """
    logs.configure("warning")
    settings = settings_of(place.data)
    endpoints = stores_of(settings)
    with bar("events") as shown:
        reports = asyncio.run(_compare(settings, endpoints, shown))
    if json:
        print_json(reports)
    else:
        for report in reports:
            _show(report)
    if any(report.found for report in reports):
        raise typer.Exit(1)


async def _compare(settings: Settings, endpoints: Endpoints, shown: Progress) -> list[Report]:
    composition = compose(settings, endpoints)
    tasks: dict[str, TaskID] = {}

    def progress(model: str, done: int, of: int) -> None:
        if model not in tasks:
            tasks[model] = shown.add_task(model, total=of)
        shown.update(tasks[model], completed=done, total=of)

    try:
        return [report async for report in composition.differ().run(progress)]
    finally:
        await composition.close()


def _show(report: Report) -> None:
    where = f"at position {report.position}, {report.compared} entries compared"
    if not report.found:
        out.print(f"[green]as the log says[/] {report.model} {where}")
        return
    counts = f"{report.missing} missing, {report.extra} extra, {report.differing} differ"
    out.print(f"[red]differs[/] {report.model} {where}: {counts}")
    for each in report.differences[:_SHOWN]:
        out.print(_line(each))
    if report.found > _SHOWN:
        out.print(f"  … and {report.found - _SHOWN} more; --json lists the first {len(report.differences)}")


def _line(each: Difference) -> Text:
    where = f" in {', '.join(each.columns)}" if each.columns else ""
    line = Text.assemble("  ", (each.kind, "red"), f" {each.model}.{each.table} {each.id}{where}")
    return line.append(f"  tenant {each.tenant_id}", style="dim")
