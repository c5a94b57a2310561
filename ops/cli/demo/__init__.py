"""`cenotaph demo`: a conversation of several weeks through the whole path, with every step checked."""

import typer

from ops import logs


def demo() -> None:
    """Play a conversation in Chinese and English, forget one thing of it, and check every step.

    Runs on embedded servers and a temporary directory of its own; nothing is left behind.
    """
    logs.configure("error")
    from ops.cli.demo.show import perform  # noqa: PLC0415 - seconds of imports the other commands do without

    if not perform():
        raise typer.Exit(1)
