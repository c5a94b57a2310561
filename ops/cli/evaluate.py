"""`cenotaph eval`: labelled scenarios through the real pipeline, scored."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops import logs
from ops.bench.governance.scenario import read_scenarios, subset
from ops.bench.governance.swap import changed, swapped
from ops.cli.output import err
from ops.cli.wiring import evaluate_governance

evaluate = typer.Typer(help="Measure the product on labelled data.", no_args_is_help=True)


@evaluate.callback()
def _evaluate() -> None:
    """Measure the product on labelled data."""


@evaluate.command()
def governance(
    scenarios: Annotated[Path, typer.Argument(help="Scenarios, one JSON object a line.", metavar="FILE")],
    results: Annotated[Path | None, typer.Option("--out", help="Write here what each scenario left.")] = None,
    *,
    swap: Annotated[int | None, typer.Option(help="Swap names, values and topics by this seed first.")] = None,
    without: Annotated[str | None, typer.Option(help="Leave a gate out; `each` measures every one in turn.")] = None,
    sample: Annotated[int | None, typer.Option(help="Play so many only, chosen by --seed.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Chooses the sample.")] = 1,
    parallel: Annotated[int, typer.Option(help="How many scenarios at once.", min=1, max=64)] = 8,
    failures: Annotated[bool, typer.Option("--failures", help="List every failed assertion.")] = False,
    report: Annotated[Path | None, typer.Option("--json", help="Write totals, rates and failures there too.")] = None,
) -> None:
    """Play labelled scenarios through the real pipeline and print what passed.

    Runs on embedded servers and a temporary directory of its own; nothing is left behind.
    """
    logs.configure("error")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    chosen = read_scenarios(scenarios)
    if sample is not None:
        chosen = subset(chosen, sample, seed)
    if swap is not None:
        before, chosen = chosen, swapped(chosen, swap)
        err.print(f"{changed(before, chosen)} of {len(chosen)} scenarios have other words")
    with Progress(*columns, console=err, transient=True) as shown:
        evaluation = evaluate_governance(chosen, without, parallel, shown)
    evaluation.show(failures=failures)
    evaluation.write(results, report)
