"""`cenotaph demo`: a conversation of several weeks through the whole path, with every step checked."""

import typer

from ops import logs
from ops.cli.wiring import perform_demo


def demo() -> None:
    """Play a conversation in Chinese and English, forget one thing of it, and check every step.

    Runs on embedded servers and a temporary directory of its own; nothing is left behind.
    """
    logs.configure("error")
    if not perform_demo():
        raise typer.Exit(1)
