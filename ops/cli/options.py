"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None,
    typer.Option("--data", help="Data directory; else CENOTAPH_DATA, else a folder in your data home.", metavar="DIR"),
]
Url = Annotated[
    str | None,
    typer.Option("--url", envvar="CENOTAPH_URL", help="Where the API is; else that of the running `up`."),
]
Key = Annotated[
    str | None,
    typer.Option("--key", envvar="CENOTAPH_API_KEY", help="API key of a tenant; else that of the data directory."),
]
Subject = Annotated[
    str,
    typer.Option("--subject", envvar="CENOTAPH_SUBJECT", help="Whose memory: your own name for the person."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

ME = "me"
