"""`cenotaph migrate`, `api` and `worker`: the same modules as separate processes, on stores that run elsewhere."""

import asyncio
from typing import Annotated

import typer

from events.errors import CenotaphError
from ops import logs
from ops.cli.options import Place
from ops.cli.output import out
from ops.cli.places import given_stores, settings_of
from ops.cli.wiring import compose, serve_some
from ops.embedded import Endpoints
from ops.settings import Settings


def api(
    place: Place,
    host: Annotated[str | None, typer.Option(help="Address to listen on; else CENOTAPH_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on, 0 for a free one; else CENOTAPH_PORT.")] = None,
) -> None:
    """Serve the HTTP API only, on the stores named by DATABASE_URL, VAULT_URL, REDIS_URL and MILVUS_URI."""
    logs.configure("info")
    _serve(settings_of(place.data, host=host, port=port), ())


def worker(
    names: Annotated[
        list[str], typer.Argument(help="seal, project, ingest, remember, erase, upkeep, roll", metavar="NAME…")
    ],
    place: Place,
) -> None:
    """Run some workers only, on the stores named by DATABASE_URL, VAULT_URL, REDIS_URL and MILVUS_URI."""
    logs.configure("info")
    _serve(settings_of(place.data), tuple(dict.fromkeys(names)))


def migrate(*, place: Place) -> None:
    """Make or update the schema of both clusters, and the logins of the parts; takes the owner of either.

    The parts check it and migrate nothing themselves; `cenotaph up` does it by itself.
    """
    logs.configure("warning")
    settings = settings_of(place.data)
    if settings.database_url is None or settings.vault_url is None:
        raise CenotaphError(
            "set DATABASE_URL and VAULT_URL to the owners of both databases; `cenotaph up` needs no migrate"
        )
    composition = compose(settings, Endpoints(settings.database_url, settings.vault_url, "", ""))
    asyncio.run(composition.migrate())
    out.print("[green]migrated[/] log and vault" + (f"; passwords: {settings.logins}" if settings.logins else ""))


def _serve(settings: Settings, workers: tuple[str, ...]) -> None:
    def ready(url: str | None) -> None:
        out.print(f"cenotaph listens on {url}" if url else f"cenotaph runs {' '.join(workers)}")

    serve_some(settings, _endpoints(settings), workers, ready)


def _endpoints(settings: Settings) -> Endpoints:
    given = given_stores(settings)
    if given is not None:
        return given
    urls = {
        "DATABASE_URL": settings.database_url,
        "VAULT_URL": settings.vault_url,
        "REDIS_URL": settings.redis_url,
        "MILVUS_URI": settings.milvus_uri,
    }
    missing = ", ".join(name for name, url in urls.items() if url is None)
    raise CenotaphError(f"separate processes need stores of their own: set {missing}, or run `cenotaph up` instead")
