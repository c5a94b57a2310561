"""One evaluation of recall on a set: what was asked, under which policy, and the figures."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from ops.bench.retrieval.everything import IndexAll
from ops.bench.retrieval.pool import Half, Pool
from ops.bench.retrieval.run import run
from ops.bench.retrieval.score import CUTS, EVERY, Answered, Figure, figures
from ops.cli.output import out, print_table
from services.recall.blend import BLEND

GOVERNED = "governed"


@dataclass(frozen=True)
class Evaluation:
    """The answers to a set's questions."""

    name: str
    half: Half | None
    pools: Sequence[Pool]
    runs: dict[str, list[Answered]]

    def show(self) -> None:
        """Print a table for each policy."""
        for policy, answered in self.runs.items():
            out.print(f"[bold]{self.name}[/], {self.half or 'both halves'}, policy {policy}: {len(answered)} questions")
            print_table(_table(answered))
            out.print()

    def report(self) -> str:
        """Return everything as JSON; the split is written down by the pools' names and the conversations' numbers."""
        asked = sorted({question.conversation for pool in self.pools for question in pool.questions})
        told = {
            "set": self.name,
            "half": self.half,
            "split": "conversations by number: even to tune, odd to hold",
            "pools": [pool.name for pool in self.pools],
            "conversations": asked,
            "items": sum(len(pool.items) for pool in self.pools),
            "blend": asdict(BLEND),
            "policies": {
                policy: {
                    "questions": len(answered),
                    "recall": {
                        category: {
                            way: {f"@{cut}": asdict(each) for cut, each in cuts.items()} for way, cuts in ways.items()
                        }
                        for category, ways in figures(answered).items()
                    },
                }
                for policy, answered in self.runs.items()
            },
        }
        return json.dumps(told, ensure_ascii=False, indent=1)


def evaluate(
    name: str,
    half: Half | None,
    pools: Sequence[Pool],
    *,
    governed: bool,
    vectors: Path | None,
    starting: Callable[[str], Callable[[], None]],
) -> Evaluation:
    """Measure recall under `eval_index_all`, and beside it, where asked for, through extractor and gates.

    Args:
        name: of the set.
        half: which half of it `pools` are.
        pools: what to play.
        governed: whether to measure end to end as well.
        vectors: a file that keeps vectors from run to run.
        starting: called with the name of each policy; returns what is called after each item and question.
    """
    runs = {IndexAll.name: run(pools, governed=False, vectors=vectors, progress=starting(IndexAll.name))}
    if governed:
        runs[GOVERNED] = run(pools, governed=True, vectors=vectors, progress=starting(GOVERNED))
    return Evaluation(name, half, pools, runs)


def _table(answered: Sequence[Answered]) -> Table:
    table = Table("category", "n", "ranked by", *(f"R@{cut}" for cut in CUTS), box=None, pad_edge=False)
    for category, ways in figures(answered).items():
        count = sum(category in {EVERY, each.question.category} for each in answered)
        for way, cuts in ways.items():
            table.add_row(category, str(count), way, *(_figure(each) for each in cuts.values()))
    return table


def _figure(each: Figure) -> str:
    return f"{each.mean:.3f} ({each.low:.3f}-{each.high:.3f})"
