"""The imports that take seconds, made by the commands that need them and by no other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from rich.progress import Progress

from events.model import EventId
from events.place import Folder
from ops.embedded import Embedded, Endpoints
from ops.settings import Settings

if TYPE_CHECKING:
    from ops.backup.kept import Kept
    from ops.backup.manifest import Manifest
    from ops.backup.restore import Chosen, Done
    from ops.bench.append.contender import Shape as AppendShape
    from ops.bench.governance.evaluation import Evaluation
    from ops.bench.governance.scenario import Scenario
    from ops.bench.retrieval.evaluation import Evaluation as RetrievalEvaluation
    from ops.bench.retrieval.pool import Half
    from ops.bench.retrieval.sets import Name
    from ops.composition import Composition
    from projections.model_names import ModelName
    from services.audit.reading import Progress as Shown
    from services.residue.search import Search

# ruff: noqa: PLC0415 - that is what this module is for


def compose(settings: Settings, endpoints: Endpoints) -> "Composition":
    """Wire the parts."""
    from ops.composition import Composition

    return Composition(settings, endpoints)


def model_id(name: "ModelName") -> str:
    """Return the id of an embedding model."""
    from projections.models import model_named

    return model_named(name)


def serve_all(settings: Settings, embedded: Embedded, ready: Callable[[str | None], None]) -> None:
    """Run everything until SIGINT or SIGTERM, bringing back embedded servers that die."""
    from ops.cli.serving import Plan, serve
    from ops.run import ALL_WORKERS

    serve(settings, embedded.endpoints, Plan(ALL_WORKERS, door=True, owner=True), ready, embedded)


def serve_some(
    settings: Settings, endpoints: Endpoints, workers: tuple[str, ...], ready: Callable[[str | None], None]
) -> None:
    """Run some workers, or the door where none is named, until SIGINT or SIGTERM."""
    from ops.cli.serving import Plan, serve

    serve(settings, endpoints, Plan(workers, door=not workers), ready)


def evaluate_governance(
    scenarios: "Sequence[Scenario]", without: str | None, parallel: int, shown: Progress
) -> "Evaluation":
    """Play scenarios, with a bar for each run."""
    from ops.bench.governance.evaluation import evaluate

    def starting(name: str) -> Callable[[], None]:
        task = shown.add_task(name, total=len(scenarios))
        return lambda: shown.advance(task)

    return evaluate(scenarios, without, parallel=parallel, starting=starting)


@dataclass(frozen=True)
class Choice:
    """What of a retrieval set is measured, and how."""

    half: "Half | None"
    limit: int | None
    governed: bool
    vectors: Path | None


def evaluate_retrieval(name: "Name", folder: Path, choice: Choice, shown: Progress) -> "RetrievalEvaluation":
    """Load a set and measure recall on it, with a bar for each policy."""
    from ops.bench.retrieval.evaluation import evaluate
    from ops.bench.retrieval.pool import half_of, sample
    from ops.bench.retrieval.sets import load

    pools = sample(half_of(load(name, folder), choice.half), choice.limit)
    total = sum(len(pool.items) + len(pool.questions) for pool in pools)

    def starting(policy: str) -> Callable[[], None]:
        task = shown.add_task(policy, total=total)
        return lambda: shown.advance(task)

    return evaluate(name, choice.half, pools, governed=choice.governed, vectors=choice.vectors, starting=starting)


def measure_append(shape: "AppendShape", rounds: int, *, variants: bool, peers: bool) -> dict[str, object]:
    """Append on servers of its own, in turns with whatever else is asked for."""
    from ops.bench.append.run import main

    return main(shape, rounds, variants=variants, peers=peers)


def measure_replay(events: int, rounds: int) -> dict[str, object]:
    """Import events in bulk and read them back."""
    from ops.bench.replay import main

    return main(events, rounds)


def measure_growth(events: int) -> dict[str, object]:
    """Fill a log and say what it costs."""
    from ops.bench.growth import main

    return main(events)


def measure_years(people: int, weeks: int) -> tuple[dict[str, object], str, list[str]]:
    """Live so many weeks in accelerated time; return what was found, its chart, and what must not be."""
    from ops.bench.years.chart import chart
    from ops.bench.years.run import Shape, main, problems

    result = main(Shape(people=people, weeks=weeks))
    return dict(result), chart(result["samples"], people), problems(result)


def measure_recall(memories: int, people: int, kept: Path | None) -> dict[str, object]:
    """Fill a system of its own and measure recall on it."""
    from ops.bench.recall.run import main

    return main(memories, people, kept)


async def look_for(
    composition: "Composition", receipt: EventId, texts: Sequence[str], raw: Mapping[str, bytes], also: Sequence[Path]
) -> "Search":
    """Search the raw files of every store."""
    return await composition.installation.search(receipt, texts, raw, also)


async def write_backup(
    composition: "Composition", folder: Path, keys: Path, life: timedelta
) -> "tuple[Manifest, Manifest]":
    """Take a backup."""
    from ops.backup.write import back_up

    return await back_up(composition.backed_up, folder, keys, life)


async def list_backups(composition: "Composition") -> "Sequence[Kept]":
    """List every backup that was ever begun."""
    from ops.backup.kept import backups

    return await backups(composition.log(None))


async def drop_backup(composition: "Composition", backup_id: UUID, *, removed: bool) -> "Kept":
    """Drop a backup."""
    from ops.backup.kept import drop

    return await drop(composition.log(None), backup_id, removed=removed)


def choose_backup(folder: Path, keys: Path | None, second_place: Path) -> "Chosen":
    """Read a backup and check it."""
    from ops.backup.restore import choose

    return choose(folder, keys, Folder(second_place), datetime.now(UTC))


async def load_backup(composition: "Composition", chosen: "Chosen", shown: "Callable[[str], Shown]") -> "Done":
    """Restore a backup."""
    from ops.backup.restore import restore

    await composition.migrate()
    return await restore(composition.target, chosen, shown)


def perform_demo() -> bool:
    """Run the demo; say whether every check held."""
    from ops.cli.demo.show import perform

    return perform()


def measure_wholes(memories: int, people: int, person: int) -> tuple[dict[str, object], str]:
    """Forget a person and a tenant as a whole; return the figures, and the same laid out for reading."""
    from ops.bench.forgetting.everything import main, table

    result = main(memories, people, person)
    return result, table(result)


def measure_forgetting(forgets: int, readers: int, seconds: float) -> tuple[dict[str, object], str]:
    """Forget while others read; return the figures, and the same laid out for reading."""
    from ops.bench.forgetting.run import main, table

    result = main(forgets, readers, seconds)
    return result, table(result)
