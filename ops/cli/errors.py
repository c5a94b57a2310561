"""Errors of ours on the command line: one red line and exit code 1, never a traceback."""

from typing import Any

import typer
from rich.text import Text

from cenotaph.errors import CenotaphError as ClientError
from events.errors import CenotaphError
from ops.cli.output import err


class App(typer.Typer):
    """A Typer application that says what went wrong."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - typer's own signature
        """Run the command of `sys.argv`."""
        try:
            return super().__call__(*args, **kwargs)
        except (CenotaphError, ClientError) as error:
            failed = error
        err.print(Text(f"cenotaph: {failed}", style="red"))
        raise SystemExit(1)
