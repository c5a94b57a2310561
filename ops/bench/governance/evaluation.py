"""One evaluation: which scenarios under which gates, and what is shown and written of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from events.errors import BadInputError
from ops.bench.governance.run import run
from ops.bench.governance.scenario import Result, Scenario, write_results
from ops.bench.governance.score import Outcome, Totals, grouped, score_all
from ops.bench.governance.table import by_area, by_language, of_rates
from ops.cli.output import out, print_table
from services.governance.judge import GATES, Gate

EVERY_GATE = "all gates"
EACH = "each"


@dataclass(frozen=True)
class Evaluation:
    """Outcomes by the name of the run; `results` are those of the first."""

    runs: Mapping[str, Sequence[Outcome]]
    results: Sequence[Result]

    def show(self, *, failures: bool) -> None:
        """Print the first run's tables, the rates of all, and the failed assertions if asked for."""
        first = next(iter(self.runs.values()))
        for table in (by_area(first), by_language(first), of_rates(self.runs)):
            print_table(table)
            out.print()
        if failures:
            for outcome in first:
                for check in outcome.checks:
                    if not check.held:
                        out.out(f"{outcome.scenario.id}  {check.kind}  {check.label}")

    def write(self, results: Path | None, report: Path | None) -> None:
        """Write the first run's results, and a report of all, where a file is named."""
        if results is not None:
            write_results(results, self.results)
        if report is not None:
            told = {name: _report(outcomes) for name, outcomes in self.runs.items()}
            report.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def evaluate(
    scenarios: Sequence[Scenario],
    without: str | None,
    *,
    parallel: int,
    starting: Callable[[str], Callable[[], None]] = lambda _: lambda: None,
) -> Evaluation:
    """Play scenarios under every gate, without one, or without each in turn.

    Args:
        scenarios: what to play.
        without: a gate, `each`, or None for none left out.
        parallel: how many scenarios at once.
        starting: called with the name of each run; returns what is called after each scenario.

    Raises:
        BadInputError: there is no such gate.
    """
    runs: dict[str, list[Outcome]] = {}
    first: list[Result] = []
    for name, gates in _gate_lists(without).items():
        results = run(scenarios, parallel=parallel, gates=gates, progress=starting(name))
        first = first or results
        runs[name] = score_all(scenarios, results)
    return Evaluation(runs, first)


def _gate_lists(without: str | None) -> dict[str, Sequence[Gate]]:
    names = {gate.__name__: gate for gate in GATES}
    if without is None:
        return {EVERY_GATE: GATES}
    if without != EACH and without not in names:
        raise BadInputError(f"there is no such gate; gates are {', '.join(names)}")
    left_out = names if without == EACH else {without: names[without]}
    lists: dict[str, Sequence[Gate]] = {EVERY_GATE: GATES} if without == EACH else {}
    return lists | {f"-{name}": tuple(gate for gate in GATES if gate is not out) for name, out in left_out.items()}


def _report(outcomes: Sequence[Outcome]) -> dict[str, object]:
    totals = Totals(outcomes)
    return {
        "scenarios": len(outcomes),
        "scenarios_passed": totals.passed,
        "rates": totals.rates(),
        "areas": {area: Totals(own).rates() for area, own in grouped(outcomes, lambda scenario: scenario.area).items()},
        "failures": [
            {"id": outcome.scenario.id, "assertion": check.kind, "label": check.label}
            for outcome in outcomes
            for check in outcome.checks
            if not check.held
        ],
    }
