"""What commands print, and how."""

from collections.abc import Sequence

from pydantic import BaseModel
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

_ALLOWED = "\n\u200d"  # the joiner holds emoji together

COLOURS = {
    "accepted": "green",
    "reinforced": "cyan",
    "held": "yellow",
    "rejected": "red",
    "suppressed": "red",
    "working_only": "dim",
    "active": "green",
    "superseded": "dim",
    "in_conflict": "yellow",
    "forgotten": "red",
}


def coloured(word: str) -> Text:
    """Colour a word of the vocabulary."""
    return Text(word, style=COLOURS.get(word, ""))


def plain(text: str) -> Text:
    """Show text as it is, with control characters made visible and no markup."""
    return Text("".join(each if each.isprintable() or each in _ALLOWED else repr(each)[1:-1] for each in text))


def print_json(values: BaseModel | Sequence[BaseModel]) -> None:
    """Print one JSON value a line."""
    for value in [values] if isinstance(values, BaseModel) else values:
        out.out(value.model_dump_json())


def print_table(table: Table) -> None:
    """Print a table; a pipe or a file gets its full width."""
    if out.is_terminal:
        out.print(table)
    else:
        Console(width=10_000, highlight=False).print(table)


def bar(unit: str, *, shown: bool = True) -> Progress:
    """Make a progress bar on stderr, where somebody looks at it."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        console=err,
        transient=True,
        disable=not (shown and err.is_terminal),
    )
