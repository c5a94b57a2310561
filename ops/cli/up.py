"""`cenotaph up` and `cenotaph down`: everything in one process on this machine."""

import os
import signal
import time
from typing import Annotated

import typer

from events.errors import CenotaphError
from ops import logs
from ops.cli.options import Place
from ops.cli.output import out
from ops.cli.places import settings_of, tenant_key
from ops.cli.wiring import serve_all
from ops.embedded import Embedded
from ops.settings import Settings
from ops.state import Claim, RunState, claim, running

_STOP_S = 60.0
_POLL_S = 0.05


def up(
    place: Place,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on, 0 for a free one; else CENOTAPH_PORT, else 8765.")
    ] = None,
) -> None:
    """Run everything on this machine: stores, workers and the API, until Ctrl-C or `cenotaph down`.

    Stores whose URL is set (DATABASE_URL, VAULT_URL, REDIS_URL, MILVUS_URI) are used, the others are started here.
    """
    logs.configure("info")
    settings = settings_of(place.data, port=port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops what has started, like Ctrl-C
    try:
        with claim(settings.data) as held, Embedded(settings) as embedded:
            _run(settings, held, embedded)
    except KeyboardInterrupt:
        out.print("stopped")


def _run(settings: Settings, held: Claim, embedded: Embedded) -> None:
    def ready(url: str | None) -> None:
        held.publish(RunState(pid=os.getpid(), url=url, endpoints=embedded.endpoints))
        out.print(f"cenotaph listens on {url}  (data: {settings.data}, API key: {tenant_key(settings)})")

    serve_all(settings, embedded, ready)
    out.print("stopped")


def down(place: Place) -> None:
    """Stop the running `cenotaph up` and wait until nothing of it runs."""
    settings = settings_of(place.data)
    state = running(settings.data)
    if state is None:
        out.print(f"nothing runs on {settings.data}")
        return
    os.kill(state.pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_S
    while running(settings.data) is not None:
        if time.monotonic() > deadline:
            raise CenotaphError(f"process {state.pid} did not stop within {_STOP_S:.0f} s; look at what it does")
        time.sleep(_POLL_S)
    out.print("stopped")
