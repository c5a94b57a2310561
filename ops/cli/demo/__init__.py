"""`cenotaph demo`: a conversation of several weeks through the whole path, with every step checked."""

import signal

import typer

from ops import logs
from ops.cli.wiring import perform_demo


def demo() -> None:
    """Play a conversation in Chinese and English, forget one thing of it, and check every step.

    Runs on embedded servers and a temporary directory of its own; nothing is left behind.
    """
    logs.configure("error")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops what has started, like Ctrl-C
    if not perform_demo():
        raise typer.Exit(1)
