"""`cenotaph eval`: labelled scenarios through the real pipeline, scored."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops import logs
from ops.bench.governance.scenario import read_scenarios, subset
from ops.bench.governance.swap import changed, swapped
from ops.bench.retrieval.pool import Half
from ops.bench.retrieval.sets import Name
from ops.cli.options import Json
from ops.cli.output import err, out
from ops.cli.wiring import Choice, evaluate_governance, evaluate_retrieval

_COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())

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
    chosen = read_scenarios(scenarios)
    if sample is not None:
        chosen = subset(chosen, sample, seed)
    if swap is not None:
        before, chosen = chosen, swapped(chosen, swap)
        err.print(f"{changed(before, chosen)} of {len(chosen)} scenarios have other words")
    with Progress(*_COLUMNS, console=err, transient=True) as shown:
        evaluation = evaluate_governance(chosen, without, parallel, shown)
    evaluation.show(failures=failures)
    evaluation.write(results, report)


@evaluate.command()
def retrieval(
    data: Annotated[Name, typer.Option("--set", help="Which set.")],
    path: Annotated[Path, typer.Option(help="The folder that holds it, or the one it lies in.", metavar="DIR")],
    *,
    half: Annotated[Half | None, typer.Option(help="Only the half to tune on, or the one to report.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many pools, always the same.", min=1)] = None,
    governed: Annotated[bool, typer.Option("--governed", help="End to end too: extractor and gates decide.")] = False,
    vectors: Annotated[Path | None, typer.Option(help="Keep vectors in this file, to embed each text once.")] = None,
    json: Json = False,
) -> None:
    """Measure evidence recall@k of the product's recall, by path and by category, with confidence intervals.

    Every message is imported as a turn under the policy eval_index_all, which keeps all of them: this measures finding,
    not keeping. Runs on embedded servers and a temporary directory of its own; nothing is left behind.
    """
    logs.configure("error")
    with Progress(*_COLUMNS, console=err, transient=True) as shown:
        evaluation = evaluate_retrieval(
            data, path, Choice(half=half, limit=limit, governed=governed, vectors=vectors), shown
        )
    if json:
        out.out(evaluation.report())
    else:
        evaluation.show()
