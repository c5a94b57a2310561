"""The tables of an evaluation, for reading."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from ops.bench.governance.score import KINDS, Outcome, Totals, grouped


def by_area(outcomes: Sequence[Outcome]) -> Table:
    """Lay out passed/asked per assertion type, a line per area and all together."""
    areas = grouped(outcomes, lambda scenario: scenario.area)
    return _table("area", {**areas, "ALL": list(outcomes)})


def by_language(outcomes: Sequence[Outcome]) -> Table:
    """Lay out the same per language."""
    return _table("lang", grouped(outcomes, lambda scenario: scenario.lang))


def of_rates(runs: Mapping[str, Sequence[Outcome]]) -> Table:
    """Lay out every rate, a column for each run."""
    rates = {name: Totals(outcomes).rates() for name, outcomes in runs.items()}
    table = Table("rate", *runs, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name in next(iter(rates.values())):
        table.add_row(name, *(_share(each[name]) for each in rates.values()))
    return table


def _table(title: str, groups: Mapping[str, Sequence[Outcome]]) -> Table:
    table = Table(title, "pass", "of", "%", *KINDS, "wrong/active", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, outcomes in groups.items():
        totals = Totals(outcomes)
        table.add_row(
            name,
            str(totals.passed),
            str(len(outcomes)),
            f"{100 * totals.passed / len(outcomes):.0f}",
            *(f"{totals.held[kind]}/{totals.asked[kind]}" if totals.asked[kind] else "-" for kind in KINDS),
            f"{totals.wrong}/{totals.active}",
        )
    return table


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
