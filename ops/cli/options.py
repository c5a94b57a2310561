"""Options that several commands share, each written once: a command takes a whole set of them as one parameter."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Place:
    """Which installation."""

    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="Data directory; else CENOTAPH_DATA, else a folder in your data home.", metavar="DIR"
        ),
    ] = None


@dataclass(frozen=True)
class Tenant(Place):
    """Which installation, and as which tenant."""

    key: Annotated[
        str | None,
        typer.Option("--key", envvar="CENOTAPH_API_KEY", help="API key of a tenant; else that of the data directory."),
    ] = None


@dataclass(frozen=True)
class Door(Tenant):
    """Which API, and as which tenant."""

    url: Annotated[
        str | None,
        typer.Option("--url", envvar="CENOTAPH_URL", help="Where the API is; else that of the running `up`."),
    ] = None


@dataclass(frozen=True)
class Person(Door):
    """Whose memory, behind which door."""

    subject: Annotated[
        str,
        typer.Option("--subject", envvar="CENOTAPH_SUBJECT", help="Whose memory: your own name for the person."),
    ] = "me"
    project: Annotated[
        str | None, typer.Option("--project", help="As an agent in this project: nothing private is read.")
    ] = None
    task: Annotated[str | None, typer.Option("--task", help="As an agent in this task.")] = None
    assistant: Annotated[str | None, typer.Option("--assistant", help="As this assistant.")] = None
    reading_for: Annotated[str | None, typer.Option("--for", help="As an agent that reads for this purpose.")] = None


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Give typer a command whose sets of options are spelled out, one option for each field of the set."""
    hints = get_type_hints(command, include_extras=True)
    sets: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @wraps(command)
    def run(**given: object) -> None:
        taken = {
            name: kind(**{each.name: given.pop(each.name) for each in fields(kind)}) for name, kind in sets.items()
        }
        command(**given, **taken)

    own = [each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name not in sets]
    options = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=get_type_hints(kind, include_extras=True)[each.name],
        )
        for kind in sets.values()
        for each in fields(kind)
    ]
    every = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own] + options
    run.__dict__["__signature__"] = inspect.Signature(every)
    run.__annotations__ = {each.name: each.annotation for each in every}
    return run
