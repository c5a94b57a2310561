"""`cenotaph bench`: how fast the log is on this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.table import Table

from events.errors import CenotaphError
from ops import logs
from ops.bench.append.contender import Shape
from ops.cli.options import Json
from ops.cli.output import out, print_table
from ops.cli.wiring import (
    measure_append,
    measure_forgetting,
    measure_growth,
    measure_recall,
    measure_replay,
    measure_wholes,
    measure_years,
)

bench = typer.Typer(help="Measure the log, on servers and databases of its own.", no_args_is_help=True)

_COLUMNS = ("events_per_s", "p50_ms", "p99_ms", "tail_lag_p50_ms", "tail_lag_p99_ms", "appended", "seen")


@bench.command()
def append(
    events: Annotated[int, typer.Option(help="Events each contender appends, in all rounds together.", min=1)] = 6000,
    writers: Annotated[int, typer.Option(help="Writers at once.", min=1, max=64)] = 8,
    batch: Annotated[int, typer.Option(help="Events an append.", min=1, max=1000)] = 1,
    rounds: Annotated[int, typer.Option(help="Turns each contender takes.", min=1)] = 5,
    *,
    variants: Annotated[bool, typer.Option("--variants", help="Also without encryption, without the tree.")] = False,
    peers: Annotated[bool, typer.Option("--peers", help="Also other event stores that are installed here.")] = False,
    json: Json = False,
) -> None:
    """Append as fast as the log answers while a reader follows its tail: rate, latency, lag, and whether all was seen.

    Runs on embedded servers in a temporary folder; where DATABASE_URL or VAULT_URL name a cluster, in databases of its
    own there, which it drops. Without fsync the figures are invalid and the command fails.
    """
    logs.configure("error")
    shape = Shape(writers, batch, events)
    _show(measure_append(shape, rounds, variants=variants, peers=peers), json=json)


@bench.command()
def replay(
    events: Annotated[int, typer.Option(help="Events to import and to read back.", min=1)] = 50_000,
    rounds: Annotated[int, typer.Option(help="How often they are read back.", min=1)] = 3,
    *,
    json: Json = False,
) -> None:
    """Import events in bulk, then read the sealed log and open every body: events a second, and n of n."""
    logs.configure("error")
    result = measure_replay(events, rounds)
    _show(result, json=json)
    if not result["n_of_n"]:
        raise CenotaphError("not every event was read back")


@bench.command()
def growth(
    events: Annotated[int, typer.Option(help="Events of whole turns to import.", min=4)] = 100_000,
    *,
    json: Json = False,
) -> None:
    """Fill a log with turns and decisions; say what it costs in bytes, and in time to verify and to rebuild from."""
    logs.configure("error")
    _show(measure_growth(events), json=json)


@bench.command()
def recall(
    memories: Annotated[int, typer.Option(help="Memories to fill a system with.", min=100)] = 10_000,
    people: Annotated[
        int | None, typer.Option(help="Of how many people; else a thousand memories each.", min=1)
    ] = None,
    *,
    keep: Annotated[
        Path | None, typer.Option(help="Fill this folder and leave it; one filled so before is only asked.")
    ] = None,
    json: Json = False,
) -> None:
    """Fill a system of its own and recall from it: with and without embedding the query, one asker and sixteen.

    What is said and how it is indexed is real; the vectors it is filled with are dice. Beside it stand the raw search
    of the vector index and a matrix in memory, over the same people in the same run.
    """
    logs.configure("error")
    _show(measure_recall(memories, people or max(1, memories // 1000), keep), json=json)


@bench.command()
def years(
    people: Annotated[int, typer.Option(help="How many persons.", min=1)] = 200,
    weeks: Annotated[int, typer.Option(help="How many weeks they live.", min=2)] = 104,
    *,
    out_svg: Annotated[Path | None, typer.Option("--chart", help="Write the chart here.", metavar="FILE.svg")] = None,
    json: Json = False,
) -> None:
    """Let people be remembered for two years in accelerated time, with upkeep; say what there is and what is found.

    On embedded servers in a temporary folder whose clock the run turns. Fails where something that was asked for is
    gone, or a read model differs from the log.
    """
    logs.configure("error")
    result, drawn, problems = measure_years(people, weeks)
    _show(result, json=json)
    if out_svg is not None:
        out_svg.write_text(drawn, encoding="utf-8")
    if problems:
        raise CenotaphError("; ".join(problems))


@bench.command()
def forget(
    forgets: Annotated[int, typer.Option(help="Forgets without load, and as many under load.", min=1, max=190)] = 50,
    readers: Annotated[int, typer.Option(help="Processes that poll what is forgotten.", min=1, max=16)] = 2,
    seconds: Annotated[float, typer.Option(help="How long each rate of background turns is tried.", min=2)] = 10,
    *,
    whole: Annotated[
        bool, typer.Option("--whole", help="Forget one person and one tenant as a whole instead, without load.")
    ] = False,
    person: Annotated[int, typer.Option(help="With --whole: memories of the person.", min=10)] = 10_000,
    memories: Annotated[int, typer.Option(help="With --whole: memories of the tenant.", min=10)] = 100_000,
    people: Annotated[int, typer.Option(help="With --whole: people of the tenant.", min=1)] = 100,
    json: Json = False,
) -> None:
    """Forget while others read: time from the commit to each layer and to the receipts, and reads that came after it.

    Runs a `cenotaph up` of its own; first without load, then under the highest rate of background turns at which what
    waits does not grow. A memory that a read returned although it began after the commit makes the command fail. With
    --whole everything of somebody goes, and the command fails where anything is left, or anybody else lost something.
    """
    logs.configure("error")
    if whole:
        wholes, table = measure_wholes(memories, people, person)
        out.out(orjson.dumps(wholes).decode() if json else table)
        for name in ("person", "tenant"):
            found = _mapping(wholes[name])
            if found["others_lost"] or found["rows_after"]:
                raise CenotaphError(f"{name}: {found['rows_after']} rows are left, others lost {found['others_lost']}")
        return
    result, table = measure_forgetting(forgets, readers, seconds)
    out.out(orjson.dumps(result).decode() if json else table)
    for phase in (result["without_load"], result["under_load"]):
        if isinstance(phase, Mapping) and phase["hits"]:
            raise CenotaphError(f"forgotten memories were read: {phase['hits']}")


def _show(result: Mapping[str, object], *, json: bool) -> None:
    if json:
        out.out(orjson.dumps(result).decode())
    else:
        _table(result)
    because = result.get("invalid_because")
    if isinstance(because, list) and because:
        raise CenotaphError(
            f"the figures are invalid, for acknowledged events may be lost: {', '.join(because)}; switch it on"
        )


def _table(result: Mapping[str, object]) -> None:
    """Show the contenders as rows, everything else as lines."""
    if "ratio_to" in result:
        table = Table("", *_COLUMNS, "full is times as fast", box=None, pad_edge=False)
        ratios = _mapping(result["ratio_to"])
        contenders: dict[str, object] = {"full": result, **_mapping(result["variants"]), **_mapping(result["peers"])}
        for name, found in contenders.items():
            if isinstance(found, Mapping):
                cells = [str(found[column]) for column in _COLUMNS]
                table.add_row(name, *cells, str(ratios.get(name, "")))
            else:
                table.add_row(name, str(found))
        print_table(table)
    for name, value in result.items():
        if name not in {*_COLUMNS, "variants", "peers", "ratio_to"}:
            out.print(f"{name}: {orjson.dumps(value).decode()}", markup=False)


def _mapping(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {}
