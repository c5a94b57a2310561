"""`cenotaph audit`: what an auditor asks of the log and of what was made from it."""

import typer

audit = typer.Typer(help="Check the log, and what was made from it.", no_args_is_help=True)


@audit.callback()
def _audits() -> None:
    """Check the log, and what was made from it."""
